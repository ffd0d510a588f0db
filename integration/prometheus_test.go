package integration

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hotcell/hotcell/internal/testutil"
	"github.com/hotcell/hotcell/internal/testutil/engineproxy"
)

// prometheus is a real one that scrapes a daemon, with the rules of deploy/ in a hurry.
type prometheus struct {
	url string
	log bytes.Buffer
}

// hurried are the rules with windows and patience of seconds, so that a test lives to see them.
func hurried(t *testing.T) []byte {
	t.Helper()
	rules, err := os.ReadFile("../deploy/prometheus/hotcell.rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	rules = regexp.MustCompile(`\[\d+m\]`).ReplaceAll(rules, []byte("[6s]"))
	return regexp.MustCompile(`for: \d+m`).ReplaceAll(rules, []byte("for: 1s"))
}

func startPrometheus(t *testing.T, d *daemon) *prometheus {
	t.Helper()
	dir := t.TempDir()
	write := func(name string, text []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("hotcell.rules.yml", hurried(t))
	shipped, err := os.ReadFile("../deploy/prometheus/prometheus.yml")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer("127.0.0.1:8765", strings.TrimPrefix(d.URL, "http://"), "_interval: 15s", "_interval: 500ms").Replace(string(shipped))
	write("prometheus.yml", []byte(text))
	p := &prometheus{url: "http://" + freeAddress(t)}
	cmd := exec.Command("prometheus", "--config.file="+filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path="+filepath.Join(dir, "data"),
		"--web.listen-address="+strings.TrimPrefix(p.url, "http://"), "--log.level=warn", "--storage.tsdb.min-block-duration=2h")
	cmd.Stdout, cmd.Stderr = &p.log, &p.log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // killed
		if t.Failed() {
			t.Logf("prometheus said: %s", p.log.String())
		}
	})
	testutil.Poll(t, time.Minute, func() bool {
		resp, err := http.Get(p.url + "/-/ready")
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	return p
}

func freeAddress(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

// ask reads an answer of Prometheus's API.
func (p *prometheus) ask(t *testing.T, path string, data any) {
	t.Helper()
	text := get(t, p.url+path)
	answer := struct {
		Status, Error string
		Data          any
	}{Data: data}
	if err := json.Unmarshal([]byte(text), &answer); err != nil || answer.Status != "success" {
		t.Fatalf("%s: %v, %.500s", path, err, text)
	}
}

// series is how many there are in what a query returns.
func (p *prometheus) series(t *testing.T, query string) int {
	t.Helper()
	var data struct{ Result []json.RawMessage }
	p.ask(t, "/api/v1/query?query="+url.QueryEscape(query), &data)
	return len(data.Result)
}

// value is what a query returns that returns one number.
func (p *prometheus) value(t *testing.T, query string) string {
	t.Helper()
	var data struct{ Result []struct{ Value [2]any } }
	p.ask(t, "/api/v1/query?query="+url.QueryEscape(query), &data)
	if len(data.Result) != 1 {
		return ""
	}
	s, _ := data.Result[0].Value[1].(string)
	return s
}

// firing are the names of the alerts that fire.
func (p *prometheus) firing(t *testing.T) []string {
	t.Helper()
	var data struct {
		Alerts []struct {
			Labels map[string]string
			State  string
		}
	}
	p.ask(t, "/api/v1/alerts", &data)
	names := map[string]bool{}
	for _, a := range data.Alerts {
		if a.State == "firing" {
			names[a.Labels["alertname"]] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// queries are those of all panels of all dashboards, by where they are.
func queries(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("../deploy/grafana/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no dashboards: %v", err)
	}
	all := map[string]string{}
	variables := strings.NewReplacer("$__rate_interval", "6s", "$instance", ".*")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var board struct {
			Panels []struct {
				Title   string
				Targets []struct{ Expr string }
			}
		}
		if err := json.Unmarshal(text, &board); err != nil {
			t.Fatal(err)
		}
		for _, panel := range board.Panels {
			for i, target := range panel.Targets {
				all[fmt.Sprintf("%s: %s %d", filepath.Base(file), panel.Title, i)] = variables.Replace(target.Expr)
			}
		}
	}
	return all
}

// callers call a daemon in all ways, over and over, until they are stopped.
func (d *daemon) callers(t *testing.T) (stop func()) {
	done := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		for i := 0; ; i++ {
			for _, line := range []string{
				`{"type":"skill/call/req","id":"ok-%d","name":"code-review","arguments":{"code":"import os\n"}}`,
				`{"type":"skill/call/req","id":"bad-%d","name":"code-review","arguments":{"made-up":true}}`,
				`{"type":"skill/call/req","id":"none-%d","name":"made-up-%[1]d","arguments":{}}`,
			} {
				_, _, _ = d.Call(fmt.Sprintf(line, i)) // what becomes of it is the metrics' business
			}
			resp, err := http.Post(d.URL+"/v1/calls", "application/json", strings.NewReader(fmt.Sprintf(`{"name":"code-review","id":"web-%d","arguments":{"code":"x"}}`, i)))
			if err == nil {
				resp.Body.Close()
			}
			select {
			case <-time.After(100 * time.Millisecond):
			case <-done:
				return
			}
		}
	})
	return sync.OnceFunc(func() { close(done); group.Wait() })
}

// A real Prometheus scrapes a daemon under load: the rules are sound and say nothing, every query of every dashboard
// returns data, the number of series does not grow, and when the engine is gone the alerts fire, until it is back.
// HOTCELL_SOAK_SCRAPES is how long the load lasts, such as 10m.
func TestPrometheus(t *testing.T) {
	testutil.Require(t, "prometheus")
	bin := binary(t)
	proxy := engineproxy.New(t, "")
	d := serve(t, bin, "DOCKER_HOST="+proxy.Host(), "HOTCELL__READINESS__CANARY=1s")
	stop := d.callers(t)
	t.Cleanup(stop)
	p := startPrometheus(t, d)
	p.rulesAreSound(t)
	p.everyQueryAnswers(t)
	testutil.Poll(t, time.Minute, func() bool { return len(p.firing(t)) == 0 }) // a machine that is busy may be slow at first
	p.nothingGrows(t)
	if calls := get(t, d.URL+"/v1/calls?limit=100"); strings.Contains(calls, `"canary"`) || !strings.Contains(calls, `"code-review"`) {
		t.Errorf("the canary is somebody's call: %.500s", calls)
	}

	proxy.Down()
	missing := func() []string {
		fire := p.firing(t)
		return slices.DeleteFunc([]string{"HotcellNotReady", "HotcellEngineErrors", "HotcellCallsFail"}, func(name string) bool { return slices.Contains(fire, name) })
	}
	testutil.Poll(t, time.Minute, func() bool { return len(missing()) == 0 })
	if body := get(t, d.URL+"/readyz"); !strings.Contains(body, "no engine answers") {
		t.Errorf("/readyz: %s", body)
	}
	if err := proxy.Up(); err != nil {
		t.Fatal(err)
	}
	p.isWellAgain(t, d)
	stop()
	testutil.Poll(t, 5*time.Minute, func() bool { // a cell that the engine could not remove is tried again after half a minute
		return p.value(t, "hotcell_calls_open") == "0" && p.value(t, "hotcell_cells_open") == "0"
	})
}

// isWellAgain waits until the daemon is ready after an outage, and no alert fires any more.
func (p *prometheus) isWellAgain(t *testing.T, d *daemon) {
	t.Helper()
	back := time.Now()
	ready, firing := "", []string(nil)
	defer func() {
		if t.Failed() {
			t.Logf("at last: firing %v, /readyz %s", firing, ready)
		}
	}()
	testutil.Poll(t, time.Minute, func() bool {
		ready = get(t, d.URL+"/readyz")
		return strings.Contains(ready, `"ready"`)
	})
	t.Logf("ready %v after the engine's return", time.Since(back).Round(time.Millisecond))
	testutil.Poll(t, time.Minute, func() bool {
		firing = p.firing(t)
		return len(firing) == 0
	})
	t.Logf("calm %v after the engine's return", time.Since(back).Round(time.Millisecond))
}

// rulesAreSound looks whether all rules are evaluated.
func (p *prometheus) rulesAreSound(t *testing.T) {
	t.Helper()
	want := strings.Count(string(hurried(t)), "- alert:") + strings.Count(string(hurried(t)), "- record:")
	testutil.Poll(t, time.Minute, func() bool {
		var data struct {
			Groups []struct {
				Rules []struct{ Name, Health, LastError string }
			}
		}
		p.ask(t, "/api/v1/rules", &data)
		sound := 0
		for _, g := range data.Groups {
			for _, r := range g.Rules {
				if r.LastError != "" {
					t.Fatalf("%s: %s", r.Name, r.LastError)
				}
				if r.Health == "ok" {
					sound++
				}
			}
		}
		return sound == want
	})
}

// everyQueryAnswers waits until every query of the dashboards has returned data.
func (p *prometheus) everyQueryAnswers(t *testing.T) {
	t.Helper()
	left := queries(t)
	if len(left) < 50 {
		t.Fatalf("only %d queries", len(left))
	}
	defer func() {
		for where, query := range left {
			t.Errorf("%s returns nothing: %s", where, query)
		}
	}()
	testutil.Poll(t, time.Minute, func() bool {
		for where, query := range left {
			if p.series(t, query) > 0 {
				delete(left, where)
			}
		}
		return len(left) == 0
	})
}

// nothingGrows looks at the number of the daemon's series while it is called, by names that nobody knows among others.
func (p *prometheus) nothingGrows(t *testing.T) {
	t.Helper()
	long, err := time.ParseDuration(cmp.Or(os.Getenv("HOTCELL_SOAK_SCRAPES"), "3s"))
	if err != nil {
		t.Fatal(err)
	}
	count := func() int {
		n, _ := strconv.Atoi(p.value(t, `scrape_samples_scraped{job="hotcell"}`))
		return n
	}
	testutil.Poll(t, time.Minute, func() bool { // each way to call and to end has been there
		n, _ := strconv.Atoi(p.value(t, "count(hotcell_calls_total)"))
		return n >= 4
	})
	before, calls, began := count(), p.value(t, "sum(hotcell_calls_total)"), time.Now()
	for time.Since(began) < long {
		time.Sleep(min(time.Second, long))
	}
	after := count()
	fmt.Printf("soak: scrapes: %v under load, %s calls and then %s; %d series and then %d\n", long, calls, p.value(t, "sum(hotcell_calls_total)"), before, after)
	if before == 0 || after != before {
		t.Errorf("%d series became %d within %v", before, after, long)
	}
}
