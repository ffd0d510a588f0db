package front

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hotcell/hotcell/internal/a2e"
	"github.com/hotcell/hotcell/internal/catalog"
	"github.com/hotcell/hotcell/internal/config"
	"github.com/hotcell/hotcell/internal/control"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// none is a supervisor with no calls and no skills.
type none struct{ control.Control }

func (none) Discover(context.Context, a2e.Caller, *a2e.DiscoverRequest) ([]a2e.Definition, error) {
	return nil, nil
}

func (none) Call(_ context.Context, _ a2e.Caller, req *a2e.CallRequest, _ a2e.EventWriter) *a2e.CallResponse {
	return a2e.Failure(req.ID, req.Name, a2e.Errorf(a2e.UnknownSkill, "unknown skill"), 0)
}

func (n none) Of(string) control.Control { return n }

// empty is a catalog with nothing in it.
type empty struct{ catalog.Reader }

func (empty) Callable(context.Context, a2e.Caller) ([]catalog.Entry, error) { return nil, nil }
func (empty) Version() uint64                                               { return 1 }

// Each door has its paths, and those of skills only where there is a catalog.
func TestPaths(t *testing.T) {
	for _, with := range []bool{true, false} {
		o := Options{Config: config.Default(false, t.TempDir(), ""), Supervisor: none{}, Log: slog.New(slog.DiscardHandler)}
		if with {
			o.Reader = empty{}
		}
		w, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- w.Run(ctx) }()
		for path, always := range map[string]bool{
			"/health": true, "/healthz": true, "/v1/skills": true, "/openapi.json": true, "/.well-known/agent-card.json": false,
		} {
			r := httptest.NewRequest(http.MethodGet, path, nil)
			r.Host = "localhost"
			got := httptest.NewRecorder()
			w.ServeHTTP(got, r)
			if want := map[bool]int{true: http.StatusOK, false: http.StatusNotFound}[always || with]; got.Code != want {
				t.Errorf("with a catalog %t: %s: %d %s", with, path, got.Code, got.Body)
			}
		}
		stop()
		select {
		case err := <-ended:
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		case <-time.After(time.Minute):
			t.Error("the doors did not end")
		}
	}
}
