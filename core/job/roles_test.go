package job_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"lapi/core/job"
	"lapi/core/job/wire"
)

// roles are the programs that test tasks run.
var roles = map[string]func() error{
	"exchange":  exchangeRole,
	"repeat":    repeatRole,
	"instances": instancesRole,
	"events":    eventsRole,
	"missing":   missingRole,
	"early":     earlyRole,
	"members":   membersRole,
	"slow exchange": func() error {
		return exchangeAfter(100 * time.Millisecond)
	},
	"child":    childRole,
	"grandson": grandsonRole,
	"forker":   forkerRole,
	"squatter": squatterRole,
	"attacker": attackerRole,
	"ancestor": ancestorRole,
	"sleeper":  func() error { time.Sleep(guard); return nil },
}

// hostVariable names the host on which a task shall think that it runs.
const hostVariable = "JOB_TEST_HOST"

func config() (*job.Config, error) {
	c, err := job.FromEnv(os.LookupEnv, func(level int, text string) {
		fmt.Println("warning", level,
			text)
	})
	if host := os.Getenv(hostVariable); host != "" && err == nil {
		_, err = c.Meet()
	}
	return c, err
}

func open(instance int) (*job.Config, job.Session, error) {
	c, err := config()
	if err != nil {
		return nil, nil, err
	}
	s, err := job.Open(c, instance)
	return c, s, err
}

// swap exchanges a memory file and size bytes that identify the task and the round, and checks
// everybody's.
func swap(c *job.Config, s job.Session, round, size int) error {
	fd, err := unix.MemfdCreate("swap", unix.MFD_CLOEXEC)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if _, err := unix.Pwrite(fd, stamp(c.Task, round, 8), 0); err != nil {
		return err
	}
	parts, err := s.Exchange(job.Part{Data: stamp(c.Task, round, size), Files: []int{fd}})
	if err != nil {
		return err
	}
	if len(parts) != c.NumTasks {
		return fmt.Errorf("%d parts", len(parts))
	}
	for _, t := range s.Tasks() {
		near := os.Getenv(hostVariable) == "" || t == c.Task || slices.Contains(c.CommonTasks, t)
		if err := checkPart(parts[t], near, stamp(t, round, size), stamp(t, round, 8)); err != nil {
			return fmt.Errorf("round %d, part of task %d: %w", round, t, err)
		}
	}
	return nil
}

func stamp(task, round, size int) []byte {
	b := bytes.Repeat([]byte{byte(task), byte(round)}, (size+15)/2)
	binary.LittleEndian.PutUint32(b, uint32(task))
	binary.LittleEndian.PutUint32(b[4:], uint32(round))
	return b[:size]
}

// checkPart checks a part, whose file comes if its task is near.
func checkPart(p job.Part, near bool, want, inFile []byte) error {
	if !bytes.Equal(p.Data, want) {
		return fmt.Errorf("%d bytes, not the %d expected", len(p.Data), len(want))
	}
	if !near && len(p.Files) == 0 {
		return nil
	}
	if len(p.Files) != 1 {
		return fmt.Errorf("%d files", len(p.Files))
	}
	defer unix.Close(p.Files[0])
	flags, err := unix.FcntlInt(uintptr(p.Files[0]), unix.F_GETFD, 0)
	if err != nil || flags&unix.FD_CLOEXEC == 0 {
		return fmt.Errorf("descriptor flags %#x, %v", flags, err)
	}
	got := make([]byte, len(inFile))
	if _, err := unix.Pread(p.Files[0], got, 0); err != nil || !bytes.Equal(got, inFile) {
		return fmt.Errorf("file holds % x, not % x (%v)", got, inFile, err)
	}
	return nil
}

func exchangeRole() error { return exchangeAfter(0) }

// exchangeAfter gives its first part only after a pause.
func exchangeAfter(pause time.Duration) error {
	c, s, err := open(0)
	if err != nil {
		return err
	}
	defer s.Close()
	if pause > 0 {
		time.Sleep(pause)
		fmt.Println("gives its part")
	}
	if got := len(s.Tasks()); got != c.NumTasks {
		return fmt.Errorf("%d tasks", got)
	}
	for round, size := range []int{8, 100, 40000, 200000} {
		if c.NumTasks > 8 && size > 100 {
			break
		}
		if err := swap(c, s, round, size); err != nil {
			return err
		}
	}
	if e, ok := s.Poll(); ok {
		return fmt.Errorf("event %+v", e)
	}
	s.Leave()
	return nil
}

// repeatRole opens and closes one instance many times; the odd tasks are slow, so that the others
// are a session ahead.
func repeatRole() error {
	for i := range 10 {
		c, s, err := open(0)
		if err != nil {
			return fmt.Errorf("session %d: %w", i, err)
		}
		for round := range 2 {
			if err := swap(c, s, 10*i+round, 16); err != nil {
				return fmt.Errorf("session %d: %w", i, err)
			}
		}
		if c.Task%2 == 1 {
			time.Sleep(5 * time.Millisecond)
		}
		for {
			e, ok := s.Poll()
			if !ok {
				break
			}
			return fmt.Errorf("session %d: event %+v", i, e)
		}
		s.Leave()
		s.Close()
	}
	return nil
}

// instancesRole uses several instances at a time, in threads of their own.
func instancesRole() error {
	results := make(chan error)
	for i := range 8 {
		go func() {
			c, s, err := open(i)
			if err == nil {
				for round := range 3 {
					err = errors.Join(err, swap(c, s, 100*i+round, 32))
				}
				s.Leave()
				s.Close()
			}
			results <- err
		}()
	}
	var all error
	for range 8 {
		all = errors.Join(all, <-results)
	}
	return all
}

// eventsRole prints the session's events, and obeys: leave, close, exit, swap.
func eventsRole() error {
	c, s, err := open(0)
	if err != nil {
		return err
	}
	if err := swap(c, s, 0, 8); err != nil {
		return err
	}
	fmt.Println("ready")
	commands := make(chan string)
	go func() {
		lines := bufio.NewScanner(os.Stdin)
		for lines.Scan() {
			commands <- lines.Text()
		}
		close(commands) // the test has ended
	}()
	for {
		for {
			e, ok := s.Poll()
			if !ok {
				break
			}
			fmt.Printf("event %d %d %s\n", e.Kind, e.Task, e.Text)
		}
		set := []unix.PollFd{{Fd: int32(s.Descriptor()), Events: unix.POLLIN}}
		n, err := unix.Poll(set, 20)
		if err == nil && n > 0 {
			fmt.Println("descriptor is readable")
		}
		select {
		case command, more := <-commands:
			if !more {
				return nil
			}
			switch command {
			case "leave":
				s.Leave()
				fmt.Println("left")
			case "leave and vanish": // all threads at once, as exit_group has it
				s.Leave()
				return unix.Kill(os.Getpid(), unix.SIGKILL)
			case "exit":
				return nil
			case "swap":
				fmt.Println("swap:", swap(c, s, 1, 8))
			case "again":
				other, err := job.Open(c, 1)
				if err == nil {
					_, err = other.Exchange(job.Part{})
				}
				fmt.Println("again:", err)
			}
		default:
		}
	}
}

// missingRole prints the error of an exchange that cannot succeed.
func missingRole() error {
	_, s, err := open(0)
	if err == nil {
		_, err = s.Exchange(job.Part{})
	}
	fmt.Println("error:", err)
	return nil
}

// membersRole prints whose parts it gets.
func membersRole() error {
	c, s, err := open(0)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := swap(c, s, 0, 100); err != nil {
		return err
	}
	fmt.Println("with", strings.Trim(fmt.Sprint(s.Tasks()), "[]"))
	s.Leave()
	return nil
}

// earlyRole ends before the others expect it to: without a session, or after it took part in one
// round.
func earlyRole() error {
	c, err := config()
	if err != nil {
		return err
	}
	if c.Task == 1 {
		if os.Getenv("EARLY") == "before" {
			return nil
		}
		s, err := job.Open(c, 0)
		if err == nil {
			_, err = s.Exchange(job.Part{Data: []byte{1}})
		}
		return err // and exits without Leave
	}
	s, err := job.Open(c, 0)
	for round := 0; err == nil; round++ {
		fmt.Println("round", round)
		_, err = s.Exchange(job.Part{Data: []byte{0}})
	}
	fmt.Println("error:", err)
	time.Sleep(guard) // else the others might see this task's end before that of task 1
	return nil
}

// childRole starts a program as a task may: it must not be taken for the task.
func childRole() error {
	c, s, err := open(0)
	if err != nil {
		return err
	}
	if err := swap(c, s, 0, 8); err != nil {
		return err
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVariable+"=grandson")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("grandson: %v\n%s", err, out)
	}
	s.Leave()
	return nil
}

func grandsonRole() error {
	if fds, err := os.ReadDir("/proc/self/fd"); err == nil {
		for _, fd := range fds {
			if link, _ := os.Readlink("/proc/self/fd/" + fd.Name()); strings.HasPrefix(link,
				"socket:") {
				return fmt.Errorf("descriptor %s is %s", fd.Name(), link)
			}
		}
	}
	_, err := config()
	var env *job.EnvError
	if !errors.As(err, &env) || env.Variable != job.LauncherVariable {
		return fmt.Errorf("error %v", err)
	}
	return nil
}

// leaveSleeper starts a process that holds all descriptors of this one, as a fork without exec
// does.
func leaveSleeper() error {
	var inherit []*os.File
	for fd := 3; fd < 64; fd++ {
		if dup, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 64); err == nil {
			inherit = append(inherit, os.NewFile(uintptr(dup), strconv.Itoa(fd)))
		}
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVariable+"=sleeper")
	cmd.ExtraFiles = inherit
	err := cmd.Start()
	for _, f := range inherit {
		f.Close()
	}
	return err
}

// forkerRole leaves a process behind that holds all its descriptors, as a fork without exec does,
// prints its number and waits to be killed.
func forkerRole() error {
	c, s, err := open(0)
	if err != nil {
		return err
	}
	if err := swap(c, s, 0, 8); err != nil {
		return err
	}
	if c.Task == 1 {
		if err := leaveSleeper(); err != nil {
			return err
		}
	}
	fmt.Println("ready")
	for {
		if e, ok := s.Poll(); ok {
			fmt.Printf("event %d %d %s\n", e.Kind, e.Task, e.Text)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

const nobody = 65534

// squatterRole is another user's process that has taken a name before its owner came: of the hub,
// or of task 0.
func squatterRole() error {
	c, err := config()
	if err != nil {
		return err
	}
	name := job.TaskName(c, 0)
	if os.Getenv("SQUAT") == "hub" {
		name = job.HubName(c)
	}
	if err := syscall.Setuid(nobody); err != nil {
		return err
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET, 0)
	if err != nil {
		return err
	}
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: name}); err != nil {
		return err
	}
	if err := unix.Listen(fd, 10); err != nil {
		return err
	}
	fmt.Println("ready")
	time.Sleep(guard)
	return nil
}

// attackerRole is another user's process that says hello to the hub as if it were task 1.
func attackerRole() error {
	c, err := config()
	if err != nil {
		return err
	}
	name := job.HubName(c)
	if err := syscall.Setuid(nobody); err != nil {
		return err
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET, 0)
	if err != nil {
		return err
	}
	for err = unix.ECONNREFUSED; err == unix.ECONNREFUSED; time.Sleep(time.Millisecond) {
		err = unix.Connect(fd, &unix.SockaddrUnix{Name: name})
	}
	if err != nil {
		return err
	}
	conn, err := wire.NewConn(fd)
	if err != nil {
		return err
	}
	hello := wire.Greeting{Purpose: wire.Join, Task: 1, NumTasks: c.NumTasks}
	conn.Queue(wire.Message{Kind: wire.Hello, Data: hello.Encode()})
	if _, err := conn.Flush(); err != nil && err != io.EOF {
		return err
	}
	m, err := next(conn)
	fmt.Printf("answer: %d %v\n", m.Kind, err)
	return nil
}

// ancestorRole waits for the end of what listens at the server's address.
func ancestorRole() error {
	f := job.ListeningAncestor()
	if f == nil {
		fmt.Println("none")
		return nil
	}
	fmt.Println("found")
	set := []unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLIN}}
	_, err := unix.Poll(set, int(guard/time.Millisecond))
	fmt.Println("ended", err)
	return nil
}
