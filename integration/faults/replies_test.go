package faults

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hotcell/hotcell/integration/rig"
	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/testutil"
	"github.com/hotcell/hotcell/internal/testutil/engineproxy"
)

// An engine that warns will not enforce something: nothing starts.
func TestTrap17Warnings(t *testing.T) {
	b := newBench(t, common(), nil)
	warn := engineproxy.Fault{Edit: engineproxy.Warn("Your kernel does not support swap limit capabilities. Memory limited without swap.")}
	b.proxy.Inject(engineproxy.Rule{Method: "POST", Path: "/containers/create", Query: "name=skill-", Fault: warn})
	answer := b.call(t, "quick", 60)
	expect(t, answer, "runtime_error/unsupported")
	if answer.Error != nil && !strings.Contains(answer.Error.Message, "swap") {
		t.Errorf("message = %q, want the engine's warning in it", answer.Error.Message)
	}
	if n := b.proxy.Requests("POST", "/containers/*/start"); n != 0 {
		t.Errorf("%d cells were started", n)
	}
}

// Removal meets other removers and a busy engine: it goes on until the cell is gone, and the caller hears nothing of it.
func TestTrap23RemoveRaces(t *testing.T) {
	b := newBench(t, common(), nil)
	expect(t, b.call(t, "quick", 60), "ok")
	b.awaitNoCells(t)
	for name, f := range map[string]engineproxy.Fault{
		"in progress":     {Answer: engineproxy.Says(409, "removal of container x is already in progress")},
		"busy":            {Answer: engineproxy.Says(500, `driver "overlay2" failed to remove root filesystem: device or resource busy`)},
		"no exit event":   {Answer: engineproxy.Says(500, "cannot remove: tried to kill container, but did not receive an exit event")},
		"done by another": {Instead: engineproxy.Says(404, "No such container: x")},
		"answer lost":     {Lost: true},
		"never heard of":  {Drop: true},
	} {
		t.Run(name, func(t *testing.T) {
			rule := b.proxy.Inject(engineproxy.Rule{Method: "DELETE", Path: "/containers/*", Nth: 1, Fault: f})
			expect(t, b.call(t, "quick", 60), "ok")
			testutil.Poll(t, hang, func() bool { return rule.Hits() == 1 })
			b.awaitNoCells(t)
		})
	}
}

// Creates and starts whose answers are lost or late leave nothing, and the call is told what is true.
func TestTrap24AmbiguousCreateAndStart(t *testing.T) {
	b := newBench(t, common(), nil)
	expect(t, b.call(t, "quick", 60), "ok")
	create := engineproxy.Rule{Method: "POST", Path: "/containers/create", Nth: 1}
	start := engineproxy.Rule{Method: "POST", Path: "/containers/*/start", Nth: 1}
	t.Run("create lost", func(t *testing.T) {
		create.Fault = engineproxy.Fault{Lost: true}
		b.proxy.Inject(create)
		expect(t, b.call(t, "quick", 60), "sandbox_crash/engine_unavailable")
		b.awaitNoCells(t)
	})
	t.Run("start lost", func(t *testing.T) {
		start.Fault = engineproxy.Fault{Lost: true}
		b.proxy.Inject(start)
		expect(t, b.call(t, "quick", 60), "sandbox_crash/engine_unavailable")
		b.awaitNoCells(t)
	})
	// What is late is held up until the call has its answer: that cannot have waited for it.
	for name, rule := range map[string]engineproxy.Rule{"create": create, "start": start} {
		for when, fault := range map[string]func(until engineproxy.Pause) engineproxy.Fault{
			"late":          func(until engineproxy.Pause) engineproxy.Fault { return engineproxy.Fault{Before: until} },
			"answered late": func(until engineproxy.Pause) engineproxy.Fault { return engineproxy.Fault{After: until} },
		} {
			t.Run(name+" "+when, func(t *testing.T) {
				release := make(chan struct{})
				free := sync.OnceFunc(func() { close(release) })
				defer free()
				rule.Fault = fault(engineproxy.Pause{Until: release})
				held := b.proxy.Inject(rule)
				expect(t, b.call(t, "waits", 2), "timeout")
				free()
				if held.Hits() != 1 {
					t.Error("nothing was held up")
				}
				b.awaitNoCells(t)
			})
		}
	}
	b.settles(t)
	expect(t, b.call(t, "quick", 60), "ok")
}

// settles waits until as many containers were removed as were made, so that a late one cannot come after the look.
func (b *bench) settles(t *testing.T) {
	t.Helper()
	testutil.Poll(t, hang, func() bool {
		return b.proxy.Requests("DELETE", "/containers/*") >= b.proxy.Requests("POST", "/containers/create")
	})
	b.awaitNoCells(t)
}

// An engine that is gone in the middle of a call is told as such, within seconds and without another try; the next call
// after its return works.
func TestTrap26EngineLost(t *testing.T) {
	b := newBench(t, common(), nil)
	for range 2 {
		began := time.Now()
		answer := b.listen(t.Context(), "waits", 120, func(text string) {
			if text == "up" {
				b.proxy.Down()
				began = time.Now()
			}
		})
		took := time.Since(began)
		expect(t, answer, "sandbox_crash/engine_unavailable")
		if answer.Error == nil || !answer.Error.Retryable {
			t.Errorf("a caller may not try again: %+v", answer.Error)
		}
		t.Logf("answered %v after the engine went", took)
		if took > hang/4 {
			t.Errorf("answered %v after the engine went", took)
		}
		expect(t, b.call(t, "quick", 60), "sandbox_crash/engine_unavailable")
		if err := b.proxy.Up(); err != nil {
			t.Fatal(err)
		}
		expect(t, b.call(t, "quick", 60), "ok")
		b.awaitNoCells(t)
	}
	if n := b.proxy.Requests("POST", "/containers/*/start"); n != 4 {
		t.Errorf("%d cells were started for two calls that were lost and two that were not", n)
	}
}

// Each request that a call makes, with what may come back: the verdict is the same each time, and nothing stays.
func TestRepliesGoWrong(t *testing.T) {
	b := newBench(t, common(), nil)
	expect(t, b.call(t, "quick", 60), "ok")
	lost, dropped := engineproxy.Fault{Lost: true}, engineproxy.Fault{Drop: true}
	says := func(status int, text string) engineproxy.Fault {
		return engineproxy.Fault{Answer: engineproxy.Says(status, text)}
	}
	late := engineproxy.Fault{After: engineproxy.Pause{For: 300 * time.Millisecond}}
	endless := engineproxy.Fault{Answer: &engineproxy.Answer{Status: 200, Body: `{"Id":"` + strings.Repeat("x", 1<<20), Repeat: 20}}
	const unavailable = "sandbox_crash/engine_unavailable"
	for _, tt := range []struct {
		name, method, path string
		fault              engineproxy.Fault
		want               string
	}{
		{"image dropped", "GET", "/images/*/*/json", dropped, "ok"}, // it is asked again,
		{"image 500", "GET", "/images/*/*/json", says(500, "oh"), unavailable},
		{"image late", "GET", "/images/*/*/json", late, "ok"},
		{"image endless", "GET", "/images/*/*/json", endless, unavailable},
		{"volume 500", "GET", "/volumes/*", says(500, "oh"), unavailable},
		{"volume 404", "GET", "/volumes/*", says(404, "no such volume"), "ok"}, // it is filled again
		{"create dropped", "POST", "/containers/create", dropped, unavailable},
		{"create late", "POST", "/containers/create", late, "ok"},
		{"create 404", "POST", "/containers/create", says(404, "No such image: x"), "runtime_error/image_unavailable"},
		{"create 409", "POST", "/containers/create", says(409, "Conflict. The container name is already in use"), "sandbox_crash/start_failed"},
		{"create 500", "POST", "/containers/create", says(500, "oh"), unavailable},
		{"create endless", "POST", "/containers/create", endless, unavailable},
		{"create nonsense", "POST", "/containers/create", engineproxy.Fault{Answer: &engineproxy.Answer{Status: 200, Body: "<html>"}}, unavailable},
		{"attach dropped", "POST", "/containers/*/attach", dropped, unavailable},
		{"attach lost", "POST", "/containers/*/attach", lost, unavailable},
		{"attach 404", "POST", "/containers/*/attach", says(404, "No such container: x"), unavailable},
		{"attach 409", "POST", "/containers/*/attach", says(409, "is paused, unpause the container before attach"), unavailable},
		{"attach late", "POST", "/containers/*/attach", late, "ok"},
		{"wait dropped", "POST", "/containers/*/wait", dropped, unavailable},
		{"wait 404", "POST", "/containers/*/wait", says(404, "No such container: x"), unavailable},
		{"wait 500", "POST", "/containers/*/wait", says(500, "oh"), unavailable},
		{"start dropped", "POST", "/containers/*/start", dropped, unavailable},
		{"start late", "POST", "/containers/*/start", late, "ok"},
		{"start 404", "POST", "/containers/*/start", says(404, "No such container: x"), unavailable},
		{"start 409", "POST", "/containers/*/start", says(409, "container is marked for removal and cannot be started"), "sandbox_crash/start_failed"},
		{"start 500", "POST", "/containers/*/start", says(500, "device or resource busy"), "sandbox_crash/start_failed"},
		{"inspect dropped", "GET", "/containers/*/json", dropped, "ok"},
		{"inspect 404", "GET", "/containers/*/json", says(404, "No such container: x"), "ok"},
		{"inspect 500", "GET", "/containers/*/json", says(500, "oh"), "ok"},
		{"inspect endless", "GET", "/containers/*/json", endless, "ok"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rule := b.proxy.Inject(engineproxy.Rule{Method: tt.method, Path: tt.path, Nth: 1, Fault: tt.fault})
			defer rule.Remove()
			answer := b.call(t, "quick", 60)
			expect(t, answer, tt.want)
			if answer.Error != nil && answer.Error.Code == a2e.SandboxCrash && strings.Contains(answer.Error.Message, "\n") {
				t.Errorf("message = %q", answer.Error.Message)
			}
			b.awaitNoCells(t)
			if rule.Hits() != 1 && tt.path != "/containers/*/json" { // a runner that says all needs no look
				t.Errorf("%d requests met the fault", rule.Hits())
			}
		})
	}
}

// A wait that is cut while the cell runs, or whose answer is lost, is taken up again.
func TestWaitIsTakenUpAgain(t *testing.T) {
	b := newBench(t, rig.Merge(shell("sleeps", "", "sleep 1; echo 42"), frames("silent", "[sh, -c, 'sleep 1; exit 3']")), nil)
	for _, tt := range []struct{ skill, want string }{{"sleeps", "ok"}, {"silent", "sandbox_crash/exit"}} {
		for name, pause := range map[string]time.Duration{"at once": 0, "on the way": 300 * time.Millisecond} {
			t.Run(tt.skill+" "+name, func(t *testing.T) {
				rule := b.proxy.Inject(engineproxy.Rule{Method: "POST", Path: "/containers/*/wait", Nth: 1,
					Fault: engineproxy.Fault{CutBody: true, After: engineproxy.Pause{For: pause}}})
				expect(t, b.call(t, tt.skill, 60), tt.want)
				if rule.Hits() != 1 {
					t.Error("no wait was cut")
				}
				b.awaitNoCells(t)
			})
		}
	}
}

// An engine that takes a request and never answers it (trap 3 is the attach) costs the call its time, and nothing stays once it has let go.
func TestNeverAnswered(t *testing.T) {
	b := newBench(t, common(), nil)
	expect(t, b.call(t, "quick", 60), "ok")
	for _, path := range []string{"/containers/create", "/containers/*/wait", "/containers/*/start"} {
		t.Run(path, func(t *testing.T) {
			rule := b.proxy.Inject(engineproxy.Rule{Method: "POST", Path: path, Nth: 1, Fault: engineproxy.Fault{Silent: true}})
			expect(t, b.call(t, "quick", 2), "timeout")
			if rule.Hits() != 1 {
				t.Error("nothing was kept waiting")
			}
		})
	}
	b.proxy.Down() // or the create would be waited for
	if err := b.proxy.Up(); err != nil {
		t.Fatal(err)
	}
	b.awaitNoCells(t)
	expect(t, b.call(t, "quick", 60), "ok")
}
