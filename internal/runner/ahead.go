package runner

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// How long a process that was started ahead is watched until it rests.
const (
	restLimit = 5 * time.Second
	restLook  = 5 * time.Millisecond
)

// maxEarly bounds what is read of a process's early words, in bytes. A pipe holds 64 KiB.
const maxEarly = 1 << 20

// maxLastWord bounds what is told of the stderr of a process that ended before its request, in bytes.
const maxLastWord = 300

// ahead starts the skill's process before there is a request, where that is wanted, and returns once it rests: it has
// loaded what it needs and waits for its stdin. One that does not rest is waited for only so long.
func (l *life) ahead(ctx context.Context) (*child, error) {
	if !l.cfg.Args.Prestart {
		return nil, nil
	}
	if l.moved != nil {
		return nil, nil // which is told when the request comes
	}
	c, err := l.launch(l.cfg.Env)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, restLimit)
	defer cancel()
	tick := time.NewTicker(restLook)
	defer tick.Stop()
	last := ""
	for {
		select {
		case <-tick.C:
		case <-c.over:
			return c, nil
		case <-ctx.Done():
			return c, nil
		}
		now, sleeps := c.stat.activity()
		if sleeps && now == last {
			return c, nil
		}
		last = now
	}
}

// stat is a process's line in /proc, held open.
type stat int

func openStat(pid int) stat {
	fd, err := syscall.Open("/proc/"+strconv.Itoa(pid)+"/stat", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return -1
	}
	return stat(fd)
}

func (s stat) close() { _ = syscall.Close(int(s)) }

// fields are those of the line from the third one on: a program's name, the second, may hold anything.
func (s stat) fields() [][]byte {
	var buf [1 << 10]byte
	n, err := syscall.Pread(int(s), buf[:], 0)
	if err != nil {
		return nil
	}
	return bytes.Fields(buf[bytes.LastIndexByte(buf[:n], ')')+1 : n])
}

// activity returns the processor time that the process has used, in the kernel's words, and whether it sleeps.
func (s stat) activity() (used string, sleeps bool) {
	fields := s.fields()
	if len(fields) < 13 {
		return "", false
	}
	return string(fields[11]) + "+" + string(fields[12]), string(fields[0]) == "S"
}

// discard drops what a process said before it had its request, and says why one that has ended by then is of no use.
func (l *life) discard(early *child) error {
	if early == nil {
		return nil
	}
	var stderr tail
	dropped := early.p.empty(&stderr)
	select {
	case <-early.over:
		early.p.empty(&stderr) // what came since
		st := <-early.ended
		how := "exit code " + strconv.Itoa(st.wait.ExitStatus())
		if st.wait.Signaled() {
			how = "signal " + strconv.Itoa(int(st.wait.Signal()))
		}
		if word := lastLine(stderr.String()); word != "" {
			how += ", " + strconv.Quote(clip(word, maxLastWord))
		}
		return &startError{cannotStart, "it ended before its request came (" + how + "): with run.prestart it must read its request from stdin first"}
	default:
	}
	if dropped > 0 {
		l.say.log(levelWarn, fmt.Sprintf("%d bytes that the skill printed before its request were dropped", dropped))
	}
	return nil
}

// drop closes the streams of a process that was killed before it got a request. There may be none.
func (c *child) drop() {
	if c != nil {
		c.p.closeNear()
		c.stat.close()
	}
}

// lastLine returns the last line of a text that is not blank.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// empty reads what is in the output pipes now, and returns how much it was. The end of stderr is kept in last.
func (p *pipes) empty(last *tail) (dropped int) {
	var buf [4096]byte
	for _, fd := range []int{p.stdout, p.stderr} {
		for dropped < maxEarly {
			n, err := syscall.Read(fd, buf[:])
			if n <= 0 || err != nil {
				break
			}
			dropped += n
			if fd == p.stderr {
				last.raw(buf[:n])
			}
		}
	}
	return dropped
}
