package cm

// unansweredAfter is how long, in ns, requests may go without any answer until the owner of the
// machine is notified: a listener answers at once, whatever its consumer does.
const unansweredAfter = int64(5e9)

// noteUnanswered notifies the machine's owner, once, of a connection whose requests nothing answers.
func (c *Conn) noteUnanswered(now int64) {
	report := c.m.cfg.Unanswered
	if report == nil || c.reported || c.state != requesting || c.heard != 0 || c.challenged ||
		now-c.timer.begun < unansweredAfter {
		return
	}
	c.reported = true
	report(c)
}
