package doors

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// reply is what a client in another language makes of a call.
type reply struct {
	N     int    `json:"n"`
	Fault string `json:"fault"` // of the client itself
	Ended string `json:"ended"` // the call that it cancelled, whose end the journal tells
	outcome
}

// process is a client in another language: a call a line goes in, an outcome a line comes out.
type process struct {
	d     *daemon
	mu    sync.Mutex
	in    io.Writer
	calls map[int]chan reply
	last  int
	ended bool
}

// helper starts a client and ends it with the test.
func helper(t *testing.T, d *daemon, program string, args ...string) caller {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Env = d.env // what it starts itself is a hotcell of the same folder
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &process{d: d, in: in, calls: map[int]chan reply{}}
	var reading sync.WaitGroup
	reading.Go(func() { p.read(out) })
	t.Cleanup(func() {
		_ = in.Close()
		kill := time.AfterFunc(30*time.Second, func() { _ = cmd.Process.Kill() })
		defer kill.Stop()
		reading.Wait()
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s ended with %v", program, err)
		}
		if said.Len() > 0 && t.Failed() {
			t.Logf("%s said: %s", program, said.String())
		}
	})
	return p.call
}

func (p *process) read(r io.Reader) {
	for lines := bufio.NewReader(r); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			break
		}
		var got reply
		if json.Unmarshal(line, &got) != nil {
			continue
		}
		p.mu.Lock()
		if c := p.calls[got.N]; c != nil {
			c <- got
			delete(p.calls, got.N)
		}
		p.mu.Unlock()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	for _, c := range p.calls {
		close(c)
	}
}

func (p *process) call(ctx context.Context, c call) (outcome, error) {
	answer, err := p.send(c)
	if err != nil {
		return outcome{}, err
	}
	select {
	case <-ctx.Done():
		return outcome{}, ctx.Err()
	case got, ok := <-answer:
		if !ok {
			return outcome{}, errors.New("the client ended before its answer")
		}
		if got.Fault != "" {
			return outcome{}, errors.New(got.Fault)
		}
		if got.Ended == "" {
			return got.outcome, nil
		}
		o, err := p.d.ended(ctx, got.Ended)
		o.Said = got.Said
		return o, err
	}
}

func (p *process) send(c call) (chan reply, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return nil, errors.New("the client has ended")
	}
	p.last++
	answer := make(chan reply, 1)
	p.calls[p.last] = answer
	if c.Args == nil {
		c.Args = map[string]any{}
	}
	line, err := json.Marshal(struct {
		N int `json:"n"`
		call
	}{p.last, c})
	if err == nil {
		_, err = p.in.Write(append(line, '\n'))
	}
	return answer, err
}
