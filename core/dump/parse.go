package dump

import (
	"strconv"
	"strings"
)

// fields are the key=value of a line.
type fields map[string]string

func (f fields) number(key string) int64 {
	n, _ := strconv.ParseInt(f[key], 10, 64)
	return n
}

func (f fields) count(key string) uint64 {
	n, _ := strconv.ParseUint(f[key], 10, 64)
	return n
}

// take adds a task's answer to t. Lines of unknown kinds, of a newer library, are skipped.
func (t *Task) take(text string) {
	for _, line := range strings.Split(text, "\n") {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		f := fields{}
		for _, w := range words[1:] {
			if key, value, ok := strings.Cut(w, "="); ok {
				f[key] = value
			}
		}
		t.takeLine(words[0], f)
	}
}

func (t *Task) takeLine(word string, f fields) {
	switch word {
	case "context":
		if f["api"] == "lapi" {
			t.Task, t.Tasks = int(f.number("task")), int(f.number("tasks"))
		}
	case "thread":
		th := t.thread(int(f.number("tid")))
		if th.Call != "" && th.Call != "lock" && f["call"] == "lock" {
			return // the lock is taken again at the end of a wait
		}
		th.Call, th.Millis, th.Wanted = f["call"], f.number("ms"), f.number("wanted")
		th.Counter, th.Value = f["counter"], f["value"]
	case "threads":
		t.Missing = int(f.number("without"))
	case "lock":
		t.Locks = append(t.Locks, Lock{Thread: int(f.number("tid")), Handler: f["handler"] == "1",
			Moves: f["same"] != "1", Millis: f.number("ms")})
	case "collective":
		for _, n := range strings.Split(f["needs"], ",") {
			if task, err := strconv.Atoi(n); err == nil {
				t.Needs = append(t.Needs, task)
			}
		}
	case "peer":
		t.Peers = append(t.Peers, parsePeer(f))
	case "peers":
		t.More, t.Quiet = int(f.number("more")), int(f.number("quiet"))
	}
}

func parsePeer(f fields) Peer {
	p := Peer{Task: int(f.number("task")), Link: strings.ReplaceAll(f["link"], "-", " "),
		State: f["state"], Unit: f["unit"], Sent: f.count("sent"),
		Acknowledged: f.count("acknowledged"), Unsent: f.count("unsent"),
		Messages: f.number("messages"), Bytes: f.number("bytes"), Gets: f.number("gets"),
		Rooms: f.number("rooms"), SilentMillis: f.number("silent_ms")}
	if f["paths"] != "" {
		p.Paths = strings.Split(f["paths"], ",")
	}
	return p
}

// thread is the thread with that number, added if the kernel has not shown it.
func (t *Task) thread(id int) *Thread {
	for i := range t.Threads {
		if t.Threads[i].ID == id {
			return &t.Threads[i]
		}
	}
	t.Threads = append(t.Threads, Thread{ID: id, State: '?'})
	return &t.Threads[len(t.Threads)-1]
}
