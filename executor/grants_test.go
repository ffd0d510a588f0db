package executor

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/hotcell/hotcell/images"
	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/audit"
	"github.com/hotcell/hotcell/internal/service"
	"github.com/hotcell/hotcell/internal/testutil"
	"github.com/hotcell/hotcell/internal/wall"
	"github.com/hotcell/hotcell/policies/compile"
	"github.com/hotcell/hotcell/sandbox"
	"github.com/hotcell/hotcell/sandbox/fake"
	"github.com/hotcell/hotcell/sandbox/warm"
)

// desk is a service with two ports, whose grants echo what comes through the port "a.echo". It notes what becomes of them.
type desk struct {
	mu     sync.Mutex
	asks   []service.Ask
	grants []*deskGrant
	refuse error
	model  *wall.Model
	tools  []wall.ToolDef
	tool   func(ctx context.Context, ask *wall.Tool) *wall.ToolResult
}

type deskGrant struct {
	desk  *desk
	mu    sync.Mutex
	story []string // "activate TOKEN", "revoke"
	ctx   context.Context

	provider string // of the caller's override
}

func (d *desk) Grant(ask service.Ask) (service.Grant, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asks = append(d.asks, ask)
	if d.refuse != nil {
		return nil, d.refuse
	}
	g := &deskGrant{desk: d}
	if ask.Override != nil {
		g.provider = ask.Override.ProviderName
	}
	d.grants = append(d.grants, g)
	if d.tool == nil {
		return g, nil
	}
	return tooled{g}, nil
}

func (g *deskGrant) note(what string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.story = append(g.story, what)
}

func (g *deskGrant) told() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return strings.Join(g.story, ", ")
}

func (g *deskGrant) Ports() []string {
	if g.provider != "" {
		return []string{"a.echo", "llm." + g.provider}
	}
	return []string{"b.other", "a.echo"}
}
func (*deskGrant) Env(at func(string) string, token string) []string {
	return []string{"ECHO=http://" + at("a.echo"), "OTHER=" + at("b.other"), "KEY=key:" + token, "NONE=" + at("c")}
}
func (g *deskGrant) Lease(l *wall.Lease) {
	l.Secrets, l.Model, l.Tools = map[string]string{"S": "sesame-open"}, g.desk.model, g.desk.tools
}
func (g *deskGrant) Activate(ctx context.Context, token string) {
	g.ctx = ctx
	g.note("activate " + token)
}
func (g *deskGrant) Serve(port string, conn net.Conn) {
	if port == "a.echo" {
		_, _ = io.Copy(conn, conn)
	} else {
		panic("served " + port)
	}
}
func (g *deskGrant) Revoke() { g.note("revoke") }

type tooled struct{ *deskGrant }

func (g tooled) Tool(ctx context.Context, ask *wall.Tool) *wall.ToolResult {
	return g.desk.tool(ctx, ask)
}

// What services keep for a call is kept for all that are nested in it, and for no other.
func TestNestedCallsHaveOneOutermost(t *testing.T) {
	d := &desk{}
	b := setUp(t, well, func(c *Config) { c.Services = []service.Service{d} })
	for _, ctx := range []func() context.Context{
		t.Context,
		func() context.Context { return service.Nested(d.last(t).ctx, []string{"free"}) },
		func() context.Context { return service.Nested(d.last(t).ctx, []string{"free", "free"}) },
		t.Context,
	} {
		if answer, _ := b.ask(context.WithoutCancel(ctx()), req("free")); answer.Error != nil { // the one around has ended by now
			t.Fatal(answer.Error)
		}
	}
	if o := d.asks; len(o) != 4 || o[0].Outer == nil || o[1].Outer != o[0].Outer || o[2].Outer != o[0].Outer || o[3].Outer == o[0].Outer || o[3].Outer == nil {
		t.Errorf("%+v", o)
	}
}

func (d *desk) last(t *testing.T) *deskGrant {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.grants) == 0 {
		t.Fatal("nothing was granted")
	}
	return d.grants[len(d.grants)-1]
}

// insider is a cell that gets whatever comes in, with its spec, and says lines of its own.
type insider struct {
	spec   *sandbox.Spec
	in     *wall.Reader
	tunnel *wall.Tunnel
	out    *wall.Writer
	lease  wall.Lease
	leases int
}

// env is a variable of the cell's.
func (c *insider) env(name string) string {
	for _, entry := range c.spec.OCI.Process.Env {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// inside makes a driver's program of what a cell does once it has the request. Lines that come in afterwards are for its tunnel,
// and others for heard.
func inside(live func(c *insider, heard <-chan []byte)) fake.Program {
	return func(ctx context.Context, spec *sandbox.Spec, stdin io.Reader, stdout, _ io.Writer) int {
		c := &insider{spec: spec, in: wall.NewReader(stdin, wall.MaxLine, wall.MaxLong), out: wall.NewWriter(stdout)}
		c.tunnel = wall.NewTunnel(c.out, wall.TunnelOptions{Dials: true})
		_ = c.out.Encode(wall.Ready{Type: wall.TypeReady, Protocol: wall.Protocol})
		heard := make(chan []byte, 1000)
		var living sync.WaitGroup
		defer living.Wait()
		defer c.tunnel.Close(nil)
		defer close(heard)
		for {
			line, err := c.in.Next()
			if err != nil {
				return 0
			}
			switch kind := wall.TypeOf(line.Bytes); kind {
			case wall.TypeLease:
				c.lease, _ = wall.DecodeLease(line.Bytes)
				c.leases++
			case wall.TypeRequest:
				living.Go(func() { live(c, heard) })
			case wall.TypeOpen, wall.TypeData, wall.TypeCredit, wall.TypeClose:
				_ = c.tunnel.Handle(kind, line.Bytes)
			case wall.TypeDone, wall.TypeCancel:
				return 0
			default:
				select {
				case heard <- slices.Clone(line.Bytes):
				case <-ctx.Done():
				}
			}
		}
	}
}

// done ends a call well.
func (c *insider) done(data any) {
	raw, _ := json.Marshal(data)
	yes := true
	_ = c.out.Encode(wall.Result{Type: wall.TypeResult, Success: &yes, Data: raw})
	_ = c.out.Encode(wall.Exit{Type: wall.TypeExit})
}

func serviced(t *testing.T, d *desk, live func(c *insider, heard <-chan []byte), adjust func(*Config)) *bench {
	t.Helper()
	driver := fake.New(inside(live))
	b := setUp(t, well, func(c *Config) {
		c.Driver = driver
		if d != nil {
			c.Services = []service.Service{d}
		}
		if adjust != nil {
			adjust(c)
		}
	})
	b.driver = driver
	return b
}

func TestACallUsesWhatItIsGranted(t *testing.T) {
	d := &desk{}
	b := serviced(t, d, func(c *insider, _ <-chan []byte) {
		conn, err := c.tunnel.Dial(t.Context(), "a.echo")
		if err != nil {
			c.done(err.Error())
			return
		}
		_, _ = io.WriteString(conn, "hello")
		_ = conn.CloseWrite()
		echo, err := io.ReadAll(conn)
		_ = conn.Close()
		_, refused := readAll(c, "c.none")
		_, panicked := readAll(c, "b.other")
		c.done([]any{
			string(echo), fmt.Sprint(err), fmt.Sprint(refused), panicked != nil, c.env("ECHO"), c.env("OTHER"), c.env("KEY") == "key:"+c.env(wall.EnvToken),
			c.env("NONE"), c.lease.Secrets["S"] == "sesame-open", c.leases, c.lease.Secrets["S"],
		})
	}, nil)
	answer, _ := b.ask(t.Context(), req("free"))
	if answer.Error != nil {
		t.Fatal(answer.Error)
	}
	var got []any
	if err := json.Unmarshal(data(answer), &got); err != nil {
		t.Fatal(err)
	}
	want := []any{"hello", "<nil>", "refused: ", true, "http://127.0.0.1:41001", "127.0.0.1:41002", true, "", true, 1.0, "[redacted]"}
	for i := range want {
		if i == 2 {
			if !strings.HasPrefix(fmt.Sprint(got[i]), "refused: ") {
				t.Errorf("a port that is not granted: %v", got[i])
			}
		} else if i < 3 && got[i] != want[i] || i > 3 && got[i] != want[i] {
			t.Errorf("answer %d is %v, want %v", i, got[i], want[i])
		}
	}
	g := d.last(t)
	token, ok := strings.CutPrefix(g.told(), "activate hc-")
	if token, revoked := strings.CutSuffix(token, ", revoke"); !ok || !revoked || len(token) != 32 || g.ctx.Err() == nil {
		t.Errorf("the grant's story: %s; context %v", g.told(), g.ctx.Err())
	}
	ask := d.asks[0]
	if ask.Skill.Name != "free" || ask.Who.Door != "test" || len(ask.Chain) != 0 || ask.Override != nil {
		t.Errorf("asked %+v", ask)
	}
}

// data is what a skill gave, as JSON.
func data(answer *a2e.CallResponse) []byte {
	b, _ := json.Marshal(answer.Data.Data)
	return b
}

func readAll(c *insider, port string) ([]byte, error) {
	conn, err := c.tunnel.Dial(context.Background(), port)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	return io.ReadAll(conn)
}

// Whatever becomes of a call, its grants are revoked.
func TestGrantsEndWithTheirCall(t *testing.T) {
	hangs := func(*insider, <-chan []byte) {}
	for name, tt := range map[string]struct {
		adjust func(*Config)
		faults fake.Faults
		req    *a2e.CallRequest
		want   string
		story  string
	}{
		"timeout":  {req: timed("free", 1), want: "timeout/", story: "activate"},
		"no image": {adjust: func(c *Config) { c.Images = store{&images.UnavailableError{Ref: "img", Why: "gone"}} }, want: "runtime_error/image_unavailable"},
		"no cell":  {faults: fake.Faults{Start: func(*sandbox.Spec) error { return &sandbox.StartError{ExitCode: 126} }}, want: "sandbox_crash/start_failed"},
		"no room":  {adjust: func(c *Config) { c.MaxMemory = 1 << 20 }, want: "runtime_error/unsupported"},
	} {
		t.Run(name, func(t *testing.T) {
			d := &desk{}
			b := serviced(t, d, hangs, tt.adjust)
			b.driver.SetFaults(tt.faults)
			if tt.req == nil {
				tt.req = req("free")
			}
			answer, _ := b.ask(t.Context(), tt.req)
			if verdict(answer) != tt.want {
				t.Errorf("%+v, want %s", answer.Error, tt.want)
			}
			story := d.last(t).told()
			if !strings.HasSuffix(story, "revoke") || strings.HasPrefix(story, "activate") != (tt.story != "") {
				t.Errorf("the grant's story: %s", story)
			}
		})
	}
}

func TestARefusedGrantIsTheAnswer(t *testing.T) {
	first, second := &desk{}, &desk{refuse: a2e.Errorf(a2e.Unauthorized, "not you")}
	b := serviced(t, nil, nil, func(c *Config) { c.Services = []service.Service{first, second} })
	answer, _ := b.ask(t.Context(), req("free"))
	if verdict(answer) != "unauthorized/" || answer.Error.Message != "not you" {
		t.Errorf("%+v", answer.Error)
	}
	if story := first.last(t).told(); story != "revoke" {
		t.Errorf("the first grant's story: %s", story)
	}
	if b.driver.Stats().Created != 0 {
		t.Error("a cell was made")
	}
}

// The credentials of an override reach the services, and nothing else.
func TestOverridesReachServicesOnly(t *testing.T) {
	const canary = "sk-canary-0123456789"
	d := &desk{}
	var seen atomic.Pointer[string]
	b := serviced(t, d, func(c *insider, _ <-chan []byte) {
		all := fmt.Sprint(c.spec.OCI.Process.Env, c.spec.Labels)
		seen.Store(&all)
		c.done(nil)
	}, func(c *Config) { c.Models = true })
	r := req("free")
	r.ID = "o1"
	r.LLMOverride = &a2e.LLMConfig{ProviderName: "p", ProviderCredentials: map[string]any{"api_key": canary}}
	answer, events := b.ask(t.Context(), r)
	if answer.Error != nil {
		t.Fatal(answer.Error)
	}
	if got := d.asks[0].Override; got == nil || got.ProviderCredentials["api_key"] != canary {
		t.Errorf("the service saw %v", got)
	}
	b.calls.mu.Lock()
	c := b.calls.byReq["o1"]
	kept := fmt.Sprintf("%+v %+v", c.req.LLMOverride, c.override)
	b.calls.mu.Unlock()
	for what, text := range map[string]string{"the cell": *seen.Load(), "the call's record": kept, "the events": fmt.Sprint(events)} {
		if strings.Contains(text, canary) {
			t.Errorf("%s has the key: %s", what, text)
		}
	}
}

func TestToolLines(t *testing.T) {
	var running, most atomic.Int64
	free := make(chan struct{})
	d := &desk{tool: func(ctx context.Context, ask *wall.Tool) *wall.ToolResult {
		if ask.Name == "wait" {
			most.Store(max(most.Load(), running.Add(1)))
			defer running.Add(-1)
			<-free
		}
		if ask.Name == "panic" {
			panic("on purpose")
		}
		if ask.Name == "babble" {
			return &wall.ToolResult{ID: ask.ID, Success: true, Data: json.RawMessage("{bad")}
		}
		return &wall.ToolResult{ID: ask.ID, Success: true, Data: ask.Arguments}
	}}
	b := serviced(t, d, func(c *insider, heard <-chan []byte) {
		hear := func() wall.ToolResult {
			var r wall.ToolResult
			_ = json.Unmarshal(<-heard, &r)
			return r
		}
		ask := func(id, name string) { _ = c.out.Encode(wall.Tool{Type: wall.TypeTool, ID: id, Name: name}) }
		ask("1", "x")
		first := hear()
		ask("p", "panic")
		panicked := hear()
		ask("b", "babble")
		babbled := hear()
		_ = c.out.Line([]byte(`{"type":"cell/tool","id":"2"}`))
		for i := range toolsAtOnce + 1 {
			ask(fmt.Sprint("w", i), "wait")
		}
		refused := hear()
		close(free)
		ok := 0
		for range toolsAtOnce {
			if hear().Success {
				ok++
			}
		}
		c.done([]any{first.ID, first.Success, string(first.Data), refused.ID, refused.Code, refused.Error, ok, panicked.ID, panicked.Success, babbled.Error})
	}, nil)
	answer, events := b.ask(t.Context(), req("free"))
	if answer.Error != nil {
		t.Fatal(answer.Error)
	}
	want := `["1",true,"{}","w16","permission_denied","16 tools are in use already: wait for one of their answers",16,"p",false,"the tool's answer is no JSON"]`
	if string(data(answer)) != want {
		t.Errorf("got  %s\nwant %s", data(answer), want)
	}
	if most.Load() > toolsAtOnce {
		t.Errorf("%d tools at once", most.Load())
	}
	if len(events) != 1 || !strings.Contains(fmt.Sprint(events[0].Data["message"]), "name: missing") {
		t.Errorf("events %v", events)
	}
}

// A cell that was granted nothing gets nothing, is told so, and its verdict is its own.
func TestNothingGranted(t *testing.T) {
	b := serviced(t, nil, func(c *insider, heard <-chan []byte) {
		_, err := readAll(c, "llm.openai")
		_ = c.out.Encode(wall.Tool{Type: wall.TypeTool, ID: "7", Name: "time"})
		c.done([]any{fmt.Sprint(err), string(<-heard), c.leases, c.env(wall.EnvToken)})
	}, nil)
	answer, events := b.ask(t.Context(), req("free"))
	if answer.Error != nil {
		t.Fatal(answer.Error)
	}
	var got []any
	_ = json.Unmarshal(data(answer), &got)
	if len(got) != 4 || !strings.HasPrefix(fmt.Sprint(got[0]), "refused: ") || !strings.Contains(fmt.Sprint(got[1]), codeDenied) || got[2] != 0.0 || got[3] != "" {
		t.Errorf("got %v", got)
	}
	said := fmt.Sprint(events)
	for _, kind := range []string{wall.TypeOpen, wall.TypeTool} {
		if !strings.Contains(said, "a line of type "+kind+": not allowed") {
			t.Errorf("no warning about %s: %v", kind, said)
		}
	}
}

// A flood of lines that are refused is charged like any other output, answers that nobody reads are dropped, and a tunnel
// that makes no sense is closed.
func TestForgedLinesAreTheCellsBusiness(t *testing.T) {
	for name, tt := range map[string]struct {
		line func(i int) string
		want string
	}{
		"opens":        {func(i int) string { return fmt.Sprintf(`{"type":"cell/open","id":%d,"port":"no"}`, i+1) }, "skill_error/output_limit"},
		"data":         {func(int) string { return `{"type":"cell/data","id":99,"data":"AAAA"}` }, "skill_error/output_limit"},
		"bad data":     {func(int) string { return `{"type":"cell/data","id":"x","data":7}` }, "skill_error/output_limit"},
		"tools":        {func(int) string { return `{"type":"cell/tool","id":"1","name":"x"}` }, "skill_error/output_limit"},
		"tool results": {func(int) string { return `{"type":"cell/tool-result","id":"1","success":true}` }, "skill_error/output_limit"},
		"leases":       {func(int) string { return `{"type":"cell/lease","secrets":{"A":"b"}}` }, "skill_error/output_limit"},
	} {
		t.Run(name, func(t *testing.T) {
			b := serviced(t, &desk{}, func(c *insider, _ <-chan []byte) {
				for i := range 20_000 {
					if c.out.Line([]byte(tt.line(i))) != nil {
						return
					}
				}
				c.done(nil)
			}, func(c *Config) { c.Policy.Limits.Output = 256 << 10 })
			answer, _ := b.ask(t.Context(), timed("patient", 60))
			if got := verdict(answer); got != tt.want {
				t.Errorf("%s, %v; want %s", got, answer.Error, tt.want)
			}
		})
	}
}

// Cells that wait have the token that their call's grant will ask for, and equal calls share them; also where the cell
// became ready only after the call had asked for one.
func TestWaitingCellsHaveTheirToken(t *testing.T) {
	t.Run("leased", func(t *testing.T) { testTokens(t, func(d *warm.Driver) sandbox.Driver { return d }) })
	t.Run("late", func(t *testing.T) { testTokens(t, func(d *warm.Driver) sandbox.Driver { return late{d} }) })
}

// late is a pool whose cells are ready a moment after they were asked for.
type late struct{ *warm.Driver }

func (late) Lease(string) (sandbox.Sandbox, string) { return nil, "" }

func testTokens(t *testing.T, shape func(*warm.Driver) sandbox.Driver) {
	d := &desk{}
	driver := fake.New(inside(func(c *insider, _ <-chan []byte) { c.done(c.env(wall.EnvToken)) }))
	pool := warm.New(driver, warm.Options{Max: 2})
	b := setUp(t, well, func(c *Config) { c.Driver, c.Services = shape(pool), []service.Service{d} })
	b.driver = driver
	t.Cleanup(func() {
		pool.Drain()
		testutil.Poll(t, 5*time.Second, func() bool { return driver.Stats().Live == 0 })
	})
	seen := map[string]bool{}
	for i := range 3 {
		if i > 0 {
			testutil.Poll(t, 10*time.Second, func() bool { return len(pool.Waiting("free")) > 0 })
		}
		answer, _ := b.ask(t.Context(), req("free"))
		if answer.Error != nil {
			t.Fatal(answer.Error)
		}
		var token string
		_ = json.Unmarshal(data(answer), &token)
		if story := d.last(t).told(); story != "activate "+token+", revoke" || seen[token] || token == compile.AnyToken {
			t.Errorf("the cell has %s, the grant's story is %s", token, story)
		}
		seen[token] = true
	}
}

// A call that was granted something else gets no cell that waits for others.
func TestWaitingCellsHaveTheGrantsOfTheirCall(t *testing.T) {
	d := &desk{}
	driver := fake.New(inside(func(c *insider, _ <-chan []byte) {
		c.done(c.spec.OCI.Process.Args[:len(c.spec.OCI.Process.Args)-2])
	}))
	pool := warm.New(driver, warm.Options{Max: 4})
	b := setUp(t, well, func(c *Config) { c.Driver, c.Services, c.Models = pool, []service.Service{d}, true })
	b.driver = driver
	t.Cleanup(func() {
		pool.Drain()
		testutil.Poll(t, 5*time.Second, func() bool { return driver.Stats().Live == 0 })
	})
	for _, provider := range []string{"", "one", "two", "one", ""} {
		r := req("free")
		if provider != "" {
			r.LLMOverride = &a2e.LLMConfig{ProviderName: provider}
		}
		answer, _ := b.ask(t.Context(), r)
		if answer.Error != nil {
			t.Fatal(answer.Error)
		}
		want := "b.other"
		if provider != "" {
			want = "llm." + provider
		}
		if got := string(data(answer)); !strings.Contains(got, want) || strings.Count(got, "4100") != 2 {
			t.Errorf("a call with provider %q ran in a cell with %s", provider, got)
		}
		testutil.Poll(t, 10*time.Second, func() bool { return len(pool.Waiting("free")) > 0 })
	}
}

// Calls within calls get cells beside the limit, so that parents can't wait for one another's. What is beyond the bound fails at
// once and says why.
func TestCallsWithinCallsDontWait(t *testing.T) {
	const parents = 2
	var b *bench
	d := &desk{}
	d.tool = func(ctx context.Context, ask *wall.Tool) *wall.ToolResult {
		inner := b.Call(service.Nested(ctx, []string{"free"}), a2e.Caller{Door: "test"}, req(ask.Name), nil)
		return &wall.ToolResult{ID: ask.ID, Success: inner.Error == nil, Error: verdict(inner)}
	}
	var together sync.WaitGroup
	together.Add(parents)
	b = serviced(t, d, func(c *insider, heard <-chan []byte) {
		use := func(name string) string {
			_ = c.out.Encode(wall.Tool{Type: wall.TypeTool, ID: "1", Name: name})
			var r wall.ToolResult
			_ = json.Unmarshal(<-heard, &r)
			return r.Error
		}
		switch c.spec.Labels[sandbox.LabelSkill] {
		case "free":
			together.Done()
			together.Wait() // every cell is a parent's
			c.done(use("patient"))
		default:
			c.done(nil)
		}
	}, func(c *Config) { c.MaxCells = parents })
	answers := make(chan *a2e.CallResponse, parents)
	for range parents {
		go func() { answers <- b.Call(context.Background(), a2e.Caller{Door: "test"}, req("free"), nil) }()
	}
	for range parents {
		if answer := <-answers; answer.Error != nil || string(data(answer)) != `"ok"` {
			t.Errorf("%v, %s", answer.Error, data(answer))
		}
	}
	if nested := slices.IndexFunc(d.asks, func(a service.Ask) bool { return slices.Equal(a.Chain, []string{"free"}) }); nested < 0 {
		t.Error("no service was told of the chain")
	}
}

// A supervisor that drains waits for the calls in flight, and for what they call meanwhile.
func TestCallsWithinCallsAreInFlight(t *testing.T) {
	var b *bench
	d := &desk{}
	d.tool = func(ctx context.Context, ask *wall.Tool) *wall.ToolResult {
		inner := b.Call(service.Nested(ctx, []string{"free"}), a2e.Caller{Door: "test"}, req("patient"), nil)
		return &wall.ToolResult{ID: ask.ID, Error: verdict(inner)}
	}
	started, draining := make(chan struct{}), make(chan struct{})
	b = serviced(t, d, func(c *insider, heard <-chan []byte) {
		if c.spec.Labels[sandbox.LabelSkill] != "free" {
			c.done(nil)
			return
		}
		close(started)
		<-draining
		_ = c.out.Encode(wall.Tool{Type: wall.TypeTool, ID: "1", Name: "inner"})
		var r wall.ToolResult
		_ = json.Unmarshal(<-heard, &r)
		c.done(r.Error)
	}, nil)
	answers, drained := make(chan *a2e.CallResponse, 1), make(chan error, 1)
	go func() { answers <- b.Call(context.Background(), a2e.Caller{Door: "test"}, req("free"), nil) }()
	<-started
	go func() { drained <- b.Drain(t.Context()) }()
	testutil.Poll(t, 5*time.Second, func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return b.draining
	})
	close(draining)
	if answer := <-answers; answer.Error != nil || string(data(answer)) != `"ok"` {
		t.Errorf("%v, %s", answer.Error, data(answer))
	}
	if err := <-drained; err != nil {
		t.Error(err)
	}
}

// A call within a call ends with the one around it.
func TestCallsWithinCallsEndWithTheirParent(t *testing.T) {
	var b *bench
	within := make(chan string, 1)
	d := &desk{}
	d.tool = func(ctx context.Context, ask *wall.Tool) *wall.ToolResult {
		inner := b.Call(service.Nested(ctx, []string{"free"}), a2e.Caller{Door: "test"}, req("patient"), nil)
		within <- verdict(inner)
		return &wall.ToolResult{ID: ask.ID}
	}
	b = serviced(t, d, func(c *insider, _ <-chan []byte) {
		if c.spec.Labels[sandbox.LabelSkill] == "free" {
			_ = c.out.Encode(wall.Tool{Type: wall.TypeTool, ID: "1", Name: "inner"})
		}
	}, nil)
	answer, _ := b.ask(t.Context(), timed("free", 1))
	if verdict(answer) != "timeout/" {
		t.Errorf("the parent: %+v", answer.Error)
	}
	if got := <-within; got != "runtime_error/cancelled" {
		t.Errorf("the call within: %s", got)
	}
}

// scribe keeps audit entries.
type scribe struct {
	mu      sync.Mutex
	entries []audit.Entry
}

func (s *scribe) Write(e audit.Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entries = append(s.entries, e)
}

// An agent's turns go into the audit, and nobody else's words.
func TestTheTranscriptOfAnAgent(t *testing.T) {
	kept := &scribe{}
	d := &desk{model: &wall.Model{Provider: "p", Kind: "openai", Model: "m"}}
	engine := func(string) (sandbox.Tree, error) {
		return sandbox.Tree{Name: "engine", Digest: fmt.Sprintf("%064x", 2), FS: fstest.MapFS{"engine": {Mode: 0o755}}}, nil
	}
	b := serviced(t, d, func(c *insider, _ <-chan []byte) {
		for _, data := range []string{
			`{"level":"debug","message":"turn {\"turn\":1,\"text\":\"the word is sesame-open\"}"}`,
			`{"level":"info","message":"turn {\"turn\":2}"}`, `{"level":"debug","message":"turn {"}`, `{"level":"debug","message":"a turn"}`,
		} {
			_ = c.out.Line([]byte(`{"type":"skill/event","kind":"log","data":` + data + `}`))
		}
		c.done([]any{c.lease.Model, len(c.spec.Trees)})
	}, func(c *Config) { c.Audit, c.Engine = kept, engine })
	for _, name := range []string{"agentic", "free"} {
		answer, _ := b.ask(t.Context(), req(name))
		if answer.Error != nil {
			t.Fatal(answer.Error)
		}
		if got := string(data(answer)); name == "agentic" && (!strings.Contains(got, `"model":"m"`) || !strings.HasSuffix(got, ",3]")) {
			t.Errorf("the engine found %s", data(answer))
		}
	}
	if len(kept.entries) != 1 || kept.entries[0].Kind != "agent.turn" || fmt.Sprint(kept.entries[0].Data) != "map[text:the word is [redacted] turn:1]" {
		t.Errorf("the audit has %v", kept.entries)
	}
}

// An agent without a model, or a skill without a secret that it needs, is not run at all.
func TestWhatASkillCannotDoWithout(t *testing.T) {
	for name, says := range map[string]string{"agentic": "no model provider is configured", "keyed": "needs the secret TOKEN"} {
		b := serviced(t, &desk{}, nil, nil)
		answer, _ := b.ask(t.Context(), req(name))
		if verdict(answer) != "runtime_error/unsupported" || !strings.Contains(answer.Error.Message, says) || b.driver.Stats().Created != 0 {
			t.Errorf("%s: %v, %d cells made", name, answer.Error, b.driver.Stats().Created)
		}
	}
}

// What a runner would refuse costs no cell, and the answer says what it is.
func TestALeaseThatNoCellTakes(t *testing.T) {
	for says, tools := range map[string][]wall.ToolDef{
		"tools: 129, at most 128 are allowed": slices.Repeat([]wall.ToolDef{{Name: "t", InputSchema: []byte("{}")}}, wall.MaxTools+1),
		"tools: bad name":                     {{Name: strings.Repeat("t", wall.MaxToolName+1), InputSchema: []byte("{}")}},
		"bytes, a cell takes 1048576":         {{Name: "t", Description: strings.Repeat("t", wall.MaxLine), InputSchema: []byte("{}")}},
	} {
		b := serviced(t, &desk{tools: tools}, nil, nil)
		answer, _ := b.ask(t.Context(), req("free"))
		if verdict(answer) != "runtime_error/unsupported" || !strings.Contains(answer.Error.Message, says) || b.driver.Stats().Created != 0 {
			t.Errorf("%v, %d cells made", answer.Error, b.driver.Stats().Created)
		}
	}
}

// outermost is a desk that grants nothing to calls within calls.
type outermost struct{ *desk }

func (o outermost) Grant(ask service.Ask) (service.Grant, error) {
	if len(ask.Chain) > 0 {
		return nil, nil
	}
	return o.desk.Grant(ask)
}

// What a skill was given as a secret and passes on by accident is taken out of what the call within its call says, too.
func TestSecretsWithinCallsWithinCalls(t *testing.T) {
	var b *bench
	d := &desk{}
	inner := make(chan *a2e.CallResponse, 1)
	d.tool = func(ctx context.Context, ask *wall.Tool) *wall.ToolResult {
		inner <- b.Call(service.Nested(ctx, []string{"free"}), a2e.Caller{Door: "test"}, req(ask.Name), nil)
		return &wall.ToolResult{ID: ask.ID, Success: true}
	}
	b = serviced(t, nil, func(c *insider, heard <-chan []byte) {
		if c.spec.Labels[sandbox.LabelSkill] == "free" {
			_ = c.out.Encode(wall.Tool{Type: wall.TypeTool, ID: "1", Name: "patient"})
			<-heard
			c.done(nil)
			return
		}
		c.done("I was told sesame-open")
	}, func(c *Config) { c.Services = []service.Service{outermost{d}} })
	if answer, _ := b.ask(t.Context(), req("free")); answer.Error != nil {
		t.Fatal(answer.Error)
	}
	if answer := <-inner; answer.Error != nil || string(data(answer)) != `"I was told [redacted]"` {
		t.Errorf("%v, %s", answer.Error, data(answer))
	}
}
