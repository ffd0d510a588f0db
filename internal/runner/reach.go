package runner

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hotcell/hotcell/internal/wall"
)

// How often a target is tried, and how long one try may take.
const (
	reachPause = 200 * time.Millisecond
	reachLimit = 700 * time.Millisecond
	reachMost  = time.Minute // all tries together, whatever was asked for
)

// maxWord bounds what is said and heard.
const maxWord = 128

// Listen answers whoever comes with a word, on TCP and UDP, until stdin ends. It returns the program's exit code.
func Listen(args []string, stdin io.Reader, out, errs io.Writer) int {
	if len(args) != 2 || len(args[1]) > maxWord {
		fmt.Fprintf(errs, "hotcell-runner: %s: expected PORT WORD\n", wall.ListenFlag)
		return 64
	}
	port, err := strconv.Atoi(args[0])
	if err != nil || port < 0 || port > 65535 {
		fmt.Fprintf(errs, "hotcell-runner: %s %q: expected a port\n", wall.ListenFlag, args[0])
		return 64
	}
	if port, err = answer(port, args[1], stdin, out); err != nil {
		fmt.Fprintf(errs, "hotcell-runner: listen on port %d: %v\n", port, err)
		return 1
	}
	return 0
}

// answer listens, and returns where.
func answer(port int, word string, stdin io.Reader, out io.Writer) (int, error) {
	l, err := bindTo(syscall.SOCK_STREAM, port, reachPause)
	if err != nil {
		return port, err
	}
	defer l.close()
	if err := syscall.Listen(int(l), backlog); err != nil {
		return port, err
	}
	port = l.port()
	packets, err := bindTo(syscall.SOCK_DGRAM, port, reachPause)
	if err != nil {
		return port, err
	}
	defer packets.close()
	var over atomic.Bool
	var work sync.WaitGroup
	work.Go(func() { greetAll(l, []byte(word), &over) })
	work.Go(func() { echoAll(packets, []byte(word), &over) })
	fmt.Fprintf(out, "listening on port %d\n", port)
	_, _ = io.Copy(io.Discard, stdin)
	over.Store(true)
	work.Wait()
	return port, nil
}

func greetAll(l plug, word []byte, over *atomic.Bool) {
	for !over.Load() {
		fd, _, err := syscall.Accept4(int(l), syscall.SOCK_CLOEXEC)
		if err != nil {
			continue // nobody has come for a while
		}
		_ = plug(fd).write(word)
		plug(fd).close()
	}
}

func echoAll(p plug, word []byte, over *atomic.Bool) {
	var b [maxWord]byte
	for !over.Load() {
		if _, from, err := syscall.Recvfrom(int(p), b[:], 0); err == nil {
			_ = syscall.Sendto(int(p), word, 0, from)
		}
	}
}

// TryReach dials targets again and again, each for itself, and says which it reached. It returns the program's exit code.
func TryReach(args []string, out, errs io.Writer) int {
	if len(args) < 3 || len(args[1]) > maxWord {
		fmt.Fprintf(errs, "hotcell-runner: %s: expected MILLISECONDS WORD TARGET...\n", wall.ReachFlag)
		return 64
	}
	ms, err := strconv.Atoi(args[0])
	if err != nil || ms <= 0 {
		fmt.Fprintf(errs, "hotcell-runner: %s %q: expected milliseconds\n", wall.ReachFlag, args[0])
		return 64
	}
	found, began := wall.Reach{}, time.Now()
	var mu sync.Mutex
	var work sync.WaitGroup
	for _, target := range args[2:] {
		work.Go(func() {
			r := tryOne(began, min(time.Duration(ms)*time.Millisecond, reachMost), args[1], target)
			mu.Lock()
			defer mu.Unlock()
			found[target] = r
		})
	}
	work.Wait()
	if json.NewEncoder(out).Encode(found) != nil {
		return 1
	}
	return 0
}

func tryOne(began time.Time, whole time.Duration, word, target string) wall.Reached {
	r := wall.Reached{First: -1, Last: -1}
	for {
		err := dial(target, word)
		at := time.Since(began).Milliseconds()
		r.Tries++
		r.Open = err == nil
		if err != nil {
			r.Why = err.Error()
		} else {
			r.Got++
			r.Last = at
			if r.First < 0 {
				r.First = at
			}
		}
		if time.Since(began)+reachPause > whole {
			return r
		}
		time.Sleep(reachPause)
	}
}

// dial returns nil when it got to a target, and heard the word where that says one.
func dial(target, word string) error {
	kind, at, _ := strings.Cut(target, "/")
	addr, err := netip.ParseAddrPort(at)
	network, known := map[string]int{wall.ReachOpen: syscall.SOCK_STREAM, wall.ReachTCP: syscall.SOCK_STREAM, wall.ReachUDP: syscall.SOCK_DGRAM}[kind]
	if err != nil || !known {
		return fmt.Errorf("%q: expected NETWORK/ADDRESS:PORT", target)
	}
	p, err := connectTo(network, addr, reachLimit)
	if err != nil {
		return err
	}
	defer p.close()
	if kind == wall.ReachOpen {
		return nil
	}
	if kind == wall.ReachUDP {
		if err := p.write([]byte("?")); err != nil {
			return err
		}
	}
	heard := make([]byte, len(word))
	n, err := p.read(heard)
	switch {
	case err == syscall.EAGAIN:
		return syscall.ETIMEDOUT
	case err != nil:
		return err
	case string(heard[:n]) != word:
		return errors.New("somebody else answered")
	}
	return nil
}
