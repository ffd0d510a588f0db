package console

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/hotcell/hotcell/internal/testutil"
)

// chromium is the one browser of all tests. What it asks of any host but this one goes to a proxy that refuses it and writes it
// down.
type chromium struct {
	ctx    context.Context
	outlet *outlet
}

// dictionaries is where chromium looks for one by itself when somebody types for the first time. It gets none.
const dictionaries = "redirector.gvt1.com:443"

// outlet is that proxy.
type outlet struct {
	mu    sync.Mutex
	asked []string
}

func (o *outlet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Host != dictionaries {
		o.mu.Lock()
		o.asked = append(o.asked, r.Method+" "+r.URL.String()+" "+r.Host)
		o.mu.Unlock()
	}
	http.Error(w, "this browser stays at home", http.StatusForbidden)
}

// said returns what was asked so far, and forgets it.
func (o *outlet) said() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	asked := o.asked
	o.asked = nil
	return asked
}

// browser returns the running browser.
func browser(t *testing.T) *chromium {
	t.Helper()
	testutil.Require(t, "chromium")
	c, err := startBrowser()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var startBrowser = sync.OnceValues(func() (*chromium, error) {
	dir, err := os.MkdirTemp("", "hotcell-chromium-")
	if err != nil {
		return nil, err
	}
	atEnd(func() error { return os.RemoveAll(dir) })
	c := &chromium{outlet: &outlet{}}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	server := &http.Server{Handler: c.outlet, ReadHeaderTimeout: time.Minute}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(l) })
	atEnd(func() error {
		err := server.Close()
		serving.Wait()
		return err
	})
	allocator, stop := chromedp.NewExecAllocator(context.Background(), flags(dir, l.Addr().String())...)
	ctx, closed := chromedp.NewContext(allocator)
	atEnd(func() error {
		group := 0
		if b := chromedp.FromContext(ctx).Browser; b != nil && b.Process() != nil {
			group = b.Process().Pid
		}
		err := chromedp.Cancel(ctx)
		closed()
		stop()
		chromedp.FromContext(ctx).Allocator.Wait()
		if asked := c.outlet.said(); len(asked) > 0 {
			err = errors.Join(err, fmt.Errorf("the browser asked for what is not on this host: %q", asked))
		}
		return errors.Join(err, gone(group, dir))
	})
	if err := chromedp.Do(ctx); err != nil {
		return nil, fmt.Errorf("chromium does not start: %w", err)
	}
	c.ctx = ctx
	return c, nil
})

// nowhere is where nobody listens.
const nowhere = "http://127.0.0.1:1/"

// flags start chromium without a window, without anything that it would do by itself, and without a way out.
func flags(dir, outlet string) []chromedp.ExecAllocatorOption {
	profile := filepath.Join(dir, "profile")
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath("chromium"),
		chromedp.UserDataDir(profile),
		chromedp.WSURLReadTimeout(patience),
		chromedp.Env("HOME="+dir, "XDG_CONFIG_HOME="+dir, "XDG_CACHE_HOME="+dir, "DBUS_SESSION_BUS_ADDRESS=disabled:", "LANG=C.UTF-8"),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"),
		chromedp.Flag("proxy-server", outlet),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-domain-reliability", true),
		chromedp.Flag("disable-field-trial-config", true),
		chromedp.Flag("disable-crash-reporter", true),
		chromedp.Flag("disable-gpu", true),
		chromedp.Flag("no-pings", true),
		chromedp.Flag("no-service-autorun", true),
		chromedp.Flag("disable-features", "OptimizationHints,MediaRouter,Translate,AutofillServerCommunication,CertificateTransparencyComponentUpdater,"+
			"InterestFeedContentSuggestions,NetworkTimeServiceQuerying"),
		chromedp.Flag("variations-server-url", nowhere),
		chromedp.Flag("component-updater", "url-source="+nowhere),
		chromedp.Flag("gaia-url", nowhere),
		chromedp.Flag("google-apis-url", nowhere),
		chromedp.Flag("allow-browser-signin", "false"),
		chromedp.ModifyCmdFunc(func(cmd *exec.Cmd) {
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
			cmd.Cancel = func() error { // with its children
				return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			}
			cmd.WaitDelay = time.Minute
		}),
	)
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	return options
}

// gone waits until no process of the browser is left: none that names its folder, none of its group.
func gone(group int, dir string) error {
	deadline := time.Now().Add(patience)
	for {
		left := processes(group, dir)
		if len(left) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("chromium has left processes: %q", left)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// processes are those of a group, and those whose command line names a folder.
func processes(group int, dir string) (found []string) {
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, path := range all {
		line, err := os.ReadFile(filepath.Join(path, "cmdline"))
		if err != nil || len(line) == 0 {
			continue
		}
		if strings.Contains(string(line), dir) || group > 0 && groupOf(path) == group {
			found = append(found, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}

// groupOf is the process group of /proc/PID; 0 where there is none any more.
func groupOf(path string) int {
	text, err := os.ReadFile(filepath.Join(path, "stat"))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	words := bufio.NewScanner(strings.NewReader(rest))
	words.Split(bufio.ScanWords)
	for i := 0; words.Scan(); i++ {
		if i == 2 {
			n, _ := strconv.Atoi(words.Text())
			return n
		}
	}
	return 0
}
