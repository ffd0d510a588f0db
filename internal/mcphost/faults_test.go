package mcphost

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/auth"
	"github.com/hotcell/hotcell/internal/testutil"
)

// nonces are texts that nobody says but one call. The skill repeats its own.
func nonce(client, n int) string { return fmt.Sprintf("nonce-%d-%d.", client, n) }

// repeating makes a rig whose skill says its text while it runs and returns it, and counts the calls that run.
func repeating(t *testing.T) (*rig, *atomic.Int64) {
	var running atomic.Int64
	r := answering(t, func(ctx context.Context, req *a2e.CallRequest, say say) *a2e.CallResponse {
		running.Add(1)
		defer running.Add(-1)
		text, _ := req.Arguments["text"].(string)
		for pct := range 5 {
			say(a2e.KindProgress, map[string]any{"pct": pct * 20, "message": text})
			select {
			case <-ctx.Done():
				return failed(a2e.Errorf(a2e.RuntimeError, "cancelled").Because(a2e.ReasonCancelled))
			case <-time.After(time.Millisecond):
			}
		}
		return done(map[string]any{"text": text})
	})
	return r, &running
}

func callOf(id int, text string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo","arguments":{"text":%q},"_meta":{"progressToken":%d}}}`, id, text, id)
}

// mine checks that what a client was told has no other client's words, and reports whether the call's answer is there.
func mine(t *testing.T, client, n int, told string) bool {
	rest := told
	for {
		_, after, found := strings.Cut(rest, "nonce-")
		if !found {
			break
		}
		if !strings.HasPrefix(after, fmt.Sprint(client, "-")) {
			t.Errorf("client %d was told %.300s", client, told)
			return true
		}
		rest = after
	}
	return strings.Contains(told, `"structuredContent":{"text":"`+nonce(client, n)+`"}`)
}

// Clients that use the same ids, send twice, cancel, hang up, come back and end their sessions in any order: no answer goes to
// another, and nothing is left at the end.
func TestFaultsOverHTTP(t *testing.T) {
	r, running := repeating(t)
	seed := uint64(time.Now().UnixNano())
	var group sync.WaitGroup
	var answered atomic.Int64
	for client := range 8 {
		dice := rand.New(rand.NewPCG(seed, uint64(client)))
		p := newPlain(t, r, auth.Identity{Principal: fmt.Sprint("user", client)}).open()
		group.Go(func() {
			for n := range 40 {
				id, text := n/2+10, nonce(client, n) // each id is used twice
				switch dice.IntN(6) {
				case 0, 1:
					if status, told := p.post(callOf(id, text)); status == 200 && mine(t, client, n, told) {
						answered.Add(1)
					} else if status != 400 {
						t.Errorf("seed %d: %d %s", seed, status, told)
					}
				case 2: // hangs up
					ctx, cancel := context.WithTimeout(t.Context(), time.Duration(dice.IntN(5000))*time.Microsecond)
					p.cutOff(ctx, callOf(id, text), func(told string) { mine(t, client, n, told) })
					cancel()
				case 3: // twice at once, and a cancellation
					var twice sync.WaitGroup
					for range 2 {
						twice.Go(func() {
							_, told := p.post(callOf(id, text))
							mine(t, client, n, told)
						})
					}
					_, _ = p.post(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id))
					twice.Wait()
				case 4: // a new session, and the end of the old one
					old := p.session
					p.session = ""
					p.open()
					if resp := p.request(t.Context(), "DELETE", "", sessionHeader, old); resp.StatusCode != 204 {
						t.Errorf("seed %d: the end of a session: %s", seed, resp.Status)
					}
				case 5:
					_, _ = p.post(spoilt(dice, callOf(id, "spoilt")))
				}
			}
		})
	}
	group.Wait()
	if answered.Load() == 0 {
		t.Errorf("seed %d: nothing was answered", seed)
	}
	testutil.Poll(t, time.Minute, func() bool {
		r.sessions.mu.Lock()
		defer r.sessions.mu.Unlock()
		busy := running.Load()
		for _, s := range r.sessions.sessions {
			busy += int64(s.requests) + s.calls.Load() + s.asked.Load()
		}
		return busy == 0 && len(r.sessions.sessions) == 8
	})
}

// cutOff sends a request and reads as much of the answer as comes before ctx ends.
func (p *plain) cutOff(ctx context.Context, body string, told func(string)) {
	resp, err := p.client.Do(p.build(ctx, "POST", body))
	if err != nil {
		return
	}
	b, _ := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	told(string(b))
}

// spoilt is a message with something wrong in it, mostly.
func spoilt(dice *rand.Rand, message string) string {
	b := []byte(message)
	switch at := dice.IntN(len(b)); dice.IntN(3) {
	case 0:
		return string(b[:at])
	case 1:
		b[at] ^= byte(1 + dice.IntN(255))
		return string(b)
	default:
		return string(b[:at]) + message
	}
}

// The same on stdin, where one client is all there is: what is spoilt is answered with an error, all else once.
func TestFaultsOnStdio(t *testing.T) {
	r, running := repeating(t)
	seed := uint64(time.Now().UnixNano())
	dice := rand.New(rand.NewPCG(seed, 1))
	p := newPipe(t, r).hello()
	want := map[string]string{}
	var lines []string
	for n := range 300 {
		id, text := n+10, nonce(0, n)
		switch dice.IntN(3) {
		case 0:
			lines = append(lines, strings.ReplaceAll(callOf(id, text)[:20+dice.IntN(40)], "\n", " "))
		case 1:
			lines = append(lines, fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, 10+dice.IntN(n+1)))
		}
		want[fmt.Sprint(id)] = text
		lines = append(lines, callOf(id, text))
	}
	var sending sync.WaitGroup
	defer sending.Wait()
	sending.Go(func() { _, _ = io.WriteString(p.w, strings.Join(lines, "\n")+"\n") })
	for len(want) > 0 {
		m := p.next()
		if m.Method != "" || m.ID == nil {
			continue
		}
		text, ok := want[fmt.Sprint(m.ID)]
		delete(want, fmt.Sprint(m.ID))
		if cancelled := m.Error != nil || strings.Contains(string(m.Result), "cancelled"); !ok || !cancelled && !strings.Contains(string(m.Result), text) {
			t.Errorf("seed %d: %v has the answer %s", seed, m.ID, m.Result)
		}
	}
	testutil.Poll(t, time.Minute, func() bool { return running.Load() == 0 })
}

// A revision that the header names and nobody knows is refused.
func TestRevisionsInTheHeader(t *testing.T) {
	p := newPlain(t, newRig(t, skill("a")), alice).open()
	for _, revision := range []string{"1999-01-01", "2099-01-01", "zzz"} {
		if status, body := p.post(ask, versionHeader, revision); status != 400 {
			t.Errorf("%s: %d %s", revision, status, body)
		}
	}
	for _, revision := range []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05", ""} {
		if status, body := p.post(ask, versionHeader, revision); status != 200 {
			t.Errorf("%s: %d %s", revision, status, body)
		}
	}
}

// Parameters that are missing, or are something else, are faults of who sent them: no method meets one of its own.
func TestOddParameters(t *testing.T) {
	r := newRig(t, skill("a"))
	p := newPlain(t, r, alice).open()
	for _, method := range []string{
		"tools/list", "tools/call", "resources/list", "resources/templates/list", "resources/read", "skills/list", "skills/get", "ping",
	} {
		for _, params := range []string{
			``, `,"params":null`, `,"params":{}`, `,"params":[]`, `,"params":1`, `,"params":{"_meta":null}`,
			`,"params":{"name":null,"uri":null,"cursor":null}`, `,"params":{"name":1,"uri":{},"cursor":[]}`,
		} {
			_, body := p.post(`{"jsonrpc":"2.0","id":3,"method":"` + method + `"` + params + `}`)
			if strings.Contains(body, errInternal.Message) || strings.Contains(body, "runtime error") {
				t.Errorf("%s%s: %s", method, params, body)
			}
		}
	}
}
