package runner

import (
	"io"
	"strings"
	"syscall"
	"time"

	"github.com/hotcell/hotcell/internal/wall"
)

// idle is how long a runner waits for its request before it rehearses: one whose call is there already has no time for that.
const idle = 20 * time.Millisecond

// rehearse goes once through what a call needs, so that its own lines don't wait for tables to be made and for pages of this
// program to be loaded. Nobody hears of it, and it starts nothing.
func (l *life) rehearse() {
	const request = `{"type":"skill/call/req","arguments":{},"correlation_id":"","metadata":{}}`
	mute := &voice{w: wall.NewWriter(io.Discard), hangup: func(error) {}}
	t := newTalk(mute, 1<<10)
	t.readStdout(strings.NewReader(`{"type":"skill/event","kind":"log","data":{"level":"info","message":""}}` + "\n" +
		`{"type":"skill/result","success":true,"data":{},"summary":""}` + "\n"))
	mute.log(levelInfo, request)
	mute.encode(status{}.exit())
	if wall.TypeOf([]byte(request)) == wall.TypeRequest {
		_ = environment(l.cfg.Env, []byte(request))
	}
	if p, err := openPipes(); err == nil {
		_, _ = syscall.Write(p.stdin, []byte(request))
		p.closeNear()
		p.closeFar()
	}
}
