package job_test

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"lapi/core/job"
)

func init() {
	roles["member"] = memberRole
	roles["second member"] = secondMemberRole
}

// secondMemberRole gives up once before it is a member.
func secondMemberRole() error {
	usual := job.LimitWireUp(600 * time.Millisecond)
	m := &member{}
	fmt.Println("failed:", m.open())
	m.s.Leave() // as LAPI_Init does that has failed
	if err := errors.Join(m.s.Close(), unix.Close(m.file)); err != nil {
		return err
	}
	job.LimitWireUp(usual)
	return memberRole()
}

// memberRole is in a session whose tasks die and rejoin. It prints which tasks are there and what
// happens to them, and obeys.
func memberRole() error {
	m := &member{}
	if err := m.open(); err != nil {
		return err
	}
	commands := make(chan string)
	go func() {
		lines := bufio.NewScanner(os.Stdin)
		for lines.Scan() {
			commands <- lines.Text()
		}
		close(commands) // the test has ended
	}()
	for {
		set := []unix.PollFd{{Fd: -1}}
		if m.s != nil {
			if err := m.poll(); err != nil {
				return err
			}
			set[0] = unix.PollFd{Fd: int32(m.s.Descriptor()), Events: unix.POLLIN}
		}
		_, _ = unix.Poll(set, 5)
		select {
		case command, more := <-commands:
			if !more {
				return nil
			}
			if err := m.obey(command); err != nil {
				return err
			}
		default:
		}
	}
}

type member struct {
	c    *job.Config
	s    job.Session
	file int
}

func (m *member) part() job.Part {
	return job.Part{Data: stamp(m.c.Task, os.Getpid(), 8), Files: []int{m.file}}
}

func (m *member) open() (err error) {
	if m.c, m.s, err = open(0); err != nil {
		return err
	}
	if m.file, err = unix.MemfdCreate("member", unix.MFD_CLOEXEC); err != nil {
		return err
	}
	if _, err := unix.Pwrite(m.file, stamp(m.c.Task, os.Getpid(), 8), 0); err != nil {
		return err
	}
	parts, err := m.s.Exchange(m.part())
	if err != nil {
		return err
	}
	there := "there"
	for t, p := range parts {
		if p.Data == nil {
			continue
		}
		if err := m.check(t, p); err != nil {
			return err
		}
		there += fmt.Sprint(" ", t)
	}
	fmt.Println(there)
	return nil
}

// check looks whether a part is that of a process of task t.
func (m *member) check(t int, p job.Part) error {
	if len(p.Data) != 8 || int(p.Data[0]) != t {
		return fmt.Errorf("part of task %d: % x", t, p.Data)
	}
	return checkPart(p, true, p.Data, p.Data)
}

func (m *member) poll() error {
	for {
		e, ok := m.s.Poll()
		if !ok {
			return nil
		}
		switch e.Kind {
		case job.TaskDied:
			fmt.Println("died", e.Task, e.Text)
		case job.TaskRejoined:
			if err := m.check(e.Task, e.Part); err != nil {
				return err
			}
			m.s.(job.Rejoiner).Answer(e.Task, m.part())
			fmt.Println("returned", e.Task)
		}
	}
}

func (m *member) obey(command string) error {
	word, number, _ := strings.Cut(command, " ")
	switch word {
	case "expect":
		task, err := strconv.Atoi(number)
		if err != nil {
			return err
		}
		m.s.(job.Rejoiner).Expect(task)
	case "leave", "close":
		m.s.Leave()
		if err := errors.Join(m.s.Close(), unix.Close(m.file)); err != nil {
			return err
		}
		m.s = nil
		fmt.Println("left")
		if word == "leave" {
			return m.open() // the next session
		}
	case "open":
		return m.open()
	case "hold": // a session of another instance, so that the process stays in the job
		if _, _, err := open(1); err != nil {
			return err
		}
		fmt.Println("holds")
	case "exit":
		m.s.Leave()
		_ = m.s.Close()
		os.Exit(0)
	case "fork": // a process that has all descriptors of this one
		if err := leaveSleeper(); err != nil {
			return err
		}
		fmt.Println("forked")
	case "files":
		fds, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			return err
		}
		fmt.Println("files", len(fds))
	}
	return nil
}

// members is a job of memberRole; of is the latest process of each task.
type members struct {
	*tasks
	t  *testing.T
	n  int
	of []*task
}

func newMembers(t *testing.T, n int) *members {
	t.Helper()
	return newMembersBy(t, n, -1)
}

// newMembersBy is such a job in which a given task has the hub.
func newMembersBy(t *testing.T, n, first int) *members {
	t.Helper()
	j := &members{tasks: &tasks{t: t}, t: t, n: n, of: make([]*task, n)}
	if first >= 0 {
		j.begin(first)
		j.untilHub()
	}
	for i := range n {
		if i != first {
			j.begin(i)
		}
	}
	for i := range n {
		j.of[i].expect(t, "there")
	}
	return j
}

func (j *members) begin(i int) {
	j.t.Helper()
	j.startByHand(i, j.n, "member")
	j.of[i] = j.all[len(j.all)-1]
}

// kill ends a task's process, and waits until all others that live know.
func (j *members) kill(victims ...int) {
	j.t.Helper()
	for _, v := range victims {
		j.of[v].killHard(j.t)
		<-j.of[v].ended
	}
	for i, k := range j.of {
		if slices.Contains(victims, i) || !k.alive() {
			continue
		}
		for left := slices.Clone(victims); len(left) > 0; { // in any order
			task, _, _ := strings.Cut(k.expect(j.t, "died "), " ")
			left = slices.DeleteFunc(left, func(v int) bool { return fmt.Sprint(v) == task })
		}
	}
}

func (k *task) alive() bool {
	select {
	case <-k.ended:
		return false
	default:
		return true
	}
}

// comes starts a task again and checks which tasks it finds, and that they are notified of it.
func (j *members) comes(i int, there ...int) {
	j.t.Helper()
	j.begin(i)
	want := ""
	for _, k := range there {
		want += fmt.Sprint(" ", k)
	}
	if got := j.of[i].expect(j.t, "there"); got != want {
		j.t.Fatalf("task %d finds %s, not%s", i, got, want)
	}
	for _, k := range there {
		if k != i {
			j.of[k].expect(j.t, fmt.Sprint("returned ", i))
		}
	}
}

func (j *members) files(i int) string {
	j.t.Helper()
	j.of[i].say(j.t, "files")
	return j.of[i].expect(j.t, "files ")
}

// settled is which descriptors a task has open, once they are as wanted, or after a while.
func (j *members) settled(i int, want string) (got string) {
	j.t.Helper()
	for limit := time.Now().Add(guard / 4); got != want && time.Now().Before(limit); {
		got = j.files(i)
	}
	return got
}

// A task that was killed finds the others' session open, whichever task it is, again and again;
// nothing of its predecessors is left in the process with the hub.
func TestRejoin(t *testing.T) {
	j := newMembersBy(t, 3, 2)
	before := j.files(2)
	for i := range 8 {
		j.kill(i % 2)
		j.comes(i%2, 0, 1, 2)
	}
	quiet() // what is done late for those that have ended is not done to their successors
	j.kill(0)
	j.comes(0, 0, 1, 2)
	if after := j.settled(2, before); after != before {
		t.Errorf("%s files open, %s before", after, before)
	}
}

// So it does where the hub ends with it, and another task has one from then on.
func TestRejoinWithoutHub(t *testing.T) {
	j := newMembersBy(t, 4, 1)
	for _, i := range []int{1, 0, 2, 3, 1, 3, 2, 0} {
		j.kill(i)
		j.comes(i, 0, 1, 2, 3)
	}
}

// A hub that comes later finds one session, of however many each process has had before.
func TestRejoinInSecondSession(t *testing.T) {
	j := newMembersBy(t, 3, 0)
	for _, k := range j.of {
		k.say(t, "hold")
		k.expect(t, "holds")
	}
	for _, k := range j.of {
		k.say(t, "leave")
	}
	for _, k := range j.of {
		if got := k.expect(t, "there"); got != " 0 1 2" {
			t.Fatalf("the next session has%s", got)
		}
	}
	for _, i := range []int{1, 0, 2, 1} {
		j.kill(i)
		j.comes(i, 0, 1, 2)
	}
}

// A task that rejoins does not wait for another that is still dead; the other finds it later.
func TestRejoinOfTwo(t *testing.T) {
	for _, victims := range [][]int{{0, 1}, {1, 2}, {3, 1}, {2, 0}} {
		t.Run(fmt.Sprint(victims), func(t *testing.T) { rejoinOfTwo(t, victims) })
	}
}

func rejoinOfTwo(t *testing.T, victims []int) {
	j := newMembers(t, 4)
	j.kill(victims...)
	var survivors, first []int // those who live, and those who do when the first has rejoined
	for i := range 4 {
		if !slices.Contains(victims, i) {
			survivors = append(survivors, i)
		}
		if i != victims[1] {
			first = append(first, i)
		}
	}
	j.comes(victims[0], first...)
	j.comes(victims[1], 0, 1, 2, 3)
	j.kill(victims...)
	for _, v := range victims { // both at the same time: they wire up, or one finds the other
		j.begin(v)
	}
	for _, s := range survivors {
		for range victims {
			j.of[s].expect(t, "returned ")
		}
	}
	one, other := j.of[victims[0]], j.of[victims[1]]
	met := func() bool {
		return strings.Contains(one.output(), "there 0 1 2 3") &&
			strings.Contains(other.output(), "there 0 1 2 3") ||
			strings.Contains(one.output(), fmt.Sprint("returned ", victims[1])) ||
			strings.Contains(other.output(), fmt.Sprint("returned ", victims[0]))
	}
	for limit := time.Now().Add(guard); !met(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("tasks %v do not find each other:\n%s\n%s", victims, one.output(),
				other.output())
		}
	}
}

// The hub ends while a task rejoins. A task that knows of the rejoining is not notified that the
// other has died, or that it is there once more, but answers the next hub; a task that does not
// know of it is notified then.
func TestAskedByAnotherHub(t *testing.T) {
	j := newMembersBy(t, 4, 0)
	j.kill(1)
	silent := j.of[3].cmd.Process.Pid
	if err := unix.Kill(silent, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	j.begin(1)
	j.of[2].expect(t, "returned 1")
	j.of[0].killHard(t)
	<-j.of[0].ended
	if err := unix.Kill(silent, unix.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if got := j.of[1].expect(t, "there"); got != " 1 2 3" {
		t.Errorf("finds%s", got)
	}
	for _, i := range []int{2, 3} { // in any order
		text := ""
		for limit := time.Now().Add(guard); !strings.Contains(text, "died 0") ||
			!strings.Contains(text, "returned 1"); time.Sleep(5 * time.Millisecond) {
			if text = j.of[i].output(); time.Now().After(limit) {
				t.Fatalf("task %d:\n%s", i, text)
			}
		}
		if strings.Count(text, "died 1 ") != 1 || strings.Count(text, "returned 1") != 1 {
			t.Errorf("task %d:\n%s", i, text)
		}
	}
	j.comes(0, 0, 1, 2, 3)
	j.kill(1)
	j.comes(1, 0, 1, 2, 3)
}

// A task that gives up because another does not answer may try again.
func TestSecondTryToRejoin(t *testing.T) {
	j := newMembersBy(t, 3, 0)
	j.kill(1)
	silent := j.of[2].cmd.Process.Pid
	if err := unix.Kill(silent, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	j.startByHand(1, 3, "second member")
	j.of[1] = j.all[len(j.all)-1]
	if got := j.of[1].expect(t, "failed: "); !strings.HasPrefix(got, "task 2 did not answer") {
		t.Error(got)
	}
	if err := unix.Kill(silent, unix.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if got := j.of[1].expect(t, "there"); got != " 0 1 2" {
		t.Errorf("finds%s", got)
	}
	j.kill(0)
	j.comes(0, 0, 1, 2)
}

// A task may die while it rejoins, at any moment; the next one rejoins all the same, and nothing is
// left of the others.
func TestDeathWhileComingBack(t *testing.T) {
	j := newMembersBy(t, 2, 0)
	before := j.files(0)
	j.kill(1)
	for range 15 {
		j.begin(1)
		time.Sleep(time.Duration(rand.IntN(30)) * time.Millisecond)
		j.of[1].killHard(t)
		<-j.of[1].ended
	}
	j.begin(1)
	if got := j.of[1].expect(t, "there"); got != " 0 1" {
		t.Fatalf("finds%s", got)
	}
	if after := j.settled(0, before); after != before {
		t.Fatalf("%s files open, %s before", after, before)
	}
}

// A hello from a task that has left in good order is for the next session, unless the others expect
// it to rejoin.
func TestRejoinOfTaskThatLeft(t *testing.T) {
	j := newMembers(t, 3)
	j.of[1].say(t, "leave") // and waits for the others' next session
	j.of[1].expect(t, "left")
	time.Sleep(300 * time.Millisecond) // long enough to have said hello to the others
	for _, i := range []int{0, 2} {
		if strings.Contains(j.of[i].output(), "returned") ||
			strings.Contains(j.of[i].output(), "died") {
			t.Fatalf("task %d: %s", i, j.of[i].output())
		}
		j.of[i].say(t, "leave")
		j.of[i].expect(t, "left")
	}
	for _, k := range j.of {
		if got := k.expect(t, "there"); got != " 0 1 2" {
			t.Fatalf("the next session has%s", got)
		}
	}
	j.of[1].say(t, "exit")
	<-j.of[1].ended
	j.begin(1)
	j.of[0].say(t, "expect 1")
	time.Sleep(300 * time.Millisecond)
	if strings.Contains(j.of[1].output(), "there") {
		t.Fatal("task 2 does not expect it")
	}
	j.of[2].say(t, "expect 1")
	for _, i := range []int{0, 2} {
		j.of[i].expect(t, "returned 1")
	}
	if got := j.of[1].expect(t, "there"); got != " 0 1 2" {
		t.Fatalf("finds%s", got)
	}
}

// A process that a task has forked, and that outlives it, keeps its sockets: that hinders no task.
func TestRejoinBesideForkedProcess(t *testing.T) {
	j := newMembers(t, 3)
	for _, i := range []int{0, 1, 2} {
		j.of[i].say(t, "fork")
		j.of[i].expect(t, "forked")
	}
	for _, i := range []int{1, 0} {
		j.kill(i)
		j.comes(i, 0, 1, 2)
	}
	for _, k := range j.of { // the name of a session that is over is kept too
		k.say(t, "leave")
	}
	for _, k := range j.of {
		if got := k.expect(t, "there"); got != " 0 1 2" {
			t.Fatalf("the next session has%s", got)
		}
	}
	j.kill(2)
	j.comes(2, 0, 1, 2)
}

// Tasks that have left do not disturb the others, though they go on: neither is the hub that one of
// them has, even for a job of another size that takes their names.
func TestJobAfterTheLast(t *testing.T) {
	j := newMembersBy(t, 3, 1)
	old := slices.Clone(j.of)
	for _, k := range old {
		k.say(t, "close")
		k.expect(t, "left")
	}
	for _, n := range []int{2, 3} {
		next := &members{tasks: j.tasks, t: t, n: n, of: make([]*task, n)}
		for i := range n {
			next.begin(i)
		}
		for _, k := range next.of {
			if got := k.expect(t, "there"); got != " 0 1 2"[:2*n] {
				t.Errorf("finds%s", got)
			}
		}
		for _, k := range next.of {
			k.say(t, "close")
			k.expect(t, "left")
		}
	}
	for _, k := range old { // and they may come back
		k.say(t, "open")
	}
	for _, k := range old {
		if got := k.expect(t, "there"); got != " 0 1 2" {
			t.Errorf("finds%s", got)
		}
	}
	j.kill(1)
	j.comes(1, 0, 1, 2)
}

// The hub is of use to others after its task has left, until they have, too. A process that takes
// that task's name meanwhile waits for the next session.
func TestHubOfTaskThatLeft(t *testing.T) {
	j := newMembersBy(t, 3, 1)
	first := j.of[1]
	first.say(t, "close")
	first.expect(t, "left")
	j.begin(1)
	j.of[2].killHard(t)
	<-j.of[2].ended
	j.of[0].expect(t, "died 2 ")
	j.comes(2, 0, 2)
	for _, i := range []int{0, 2} {
		if text := j.of[i].output(); strings.Contains(text, "died 1") {
			t.Errorf("task %d:\n%s", i, text)
		}
		j.of[i].say(t, "leave")
	}
	for _, k := range j.of {
		if got := k.expect(t, "there"); got != " 0 1 2" {
			t.Errorf("finds%s", got)
		}
	}
	first.killHard(t)
	<-first.ended
	j.kill(0)
	j.comes(0, 0, 1, 2)
}

// A second process of a task that lives is refused.
func TestTaskThatIsThere(t *testing.T) {
	j := newMembers(t, 2)
	first := j.of[1]
	j.begin(1)
	if got := j.of[1].expect(t, "FAIL: "); !strings.Contains(got, "another process is task 1") {
		t.Error(got)
	}
	first.say(t, "files")
	first.expect(t, "files ")
}
