package docker

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/registry"
	"github.com/docker/docker/api/types/system"
	"github.com/docker/docker/client"
	"github.com/hotcell/hotcell/images"
	"github.com/hotcell/hotcell/internal/engineapi"
)

// Options configure a [Store].
type Options struct {
	Host     string // "unix:///run/docker.sock", "tcp://host:2376"; "" reads DOCKER_HOST and its companions
	Timeouts Timeouts
	// Remember is how long an answer of the engine is good for. From one second on it is asked for again, beside the caller or when
	// that says so ([images.WithLater]); 0: each caller asks.
	Remember time.Duration
	Logins   images.Logins      // nil: no registry wants one
	Ledger   *images.Ledger     // notes what is pulled; nil: nobody does
	Watch    engineapi.Observer // is told of each request to the engine; nil: nobody
}

// Timeouts bound the requests to the engine. A zero field takes the default.
type Timeouts struct {
	Inspect time.Duration // of an image, and of the engine; 10 s
	Pull    time.Duration // the whole of one; 10 min
}

// removeLimit is for the removal of one image.
const removeLimit = time.Minute

// imageAPI is what the store asks of an engine.
type imageAPI interface {
	ImageInspect(ctx context.Context, ref string, options ...client.ImageInspectOption) (image.InspectResponse, error)
	ImageList(ctx context.Context, options image.ListOptions) ([]image.Summary, error)
	ImagePull(ctx context.Context, ref string, options image.PullOptions) (io.ReadCloser, error)
	ImageRemove(ctx context.Context, id string, options image.RemoveOptions) ([]image.DeleteResponse, error)
	DistributionInspect(ctx context.Context, ref, auth string) (registry.DistributionInspect, error)
	ContainerList(ctx context.Context, options container.ListOptions) ([]container.Summary, error)
	ImageLoad(ctx context.Context, input io.Reader, options ...client.ImageLoadOption) (image.LoadResponse, error)
	Info(ctx context.Context) (system.Info, error)
	Close() error
}

// Store resolves images on one engine. It is safe for concurrent use.
type Store struct {
	host   string
	engine imageAPI
	limits Timeouts

	remember time.Duration
	logins   images.Logins
	ledger   *images.Ledger

	ctx    context.Context // of what goes on beside callers
	cancel context.CancelFunc
	pulls  *images.Pulls

	mu       sync.Mutex
	closed   bool
	work     sync.WaitGroup // answers that are asked for again
	platform *platform      // the engine's, once known
	answers  map[string]*answer
}

// platform is an operating system and an architecture in Go's words.
type platform struct{ os, arch string }

func (p platform) String() string { return p.os + "/" + p.arch }

var _ images.Store = (*Store)(nil)

// Host is the address of the engine that "" stands for, or the one that is given.
func Host(host string) string {
	if host == "" {
		host = os.Getenv(client.EnvOverrideHost)
	}
	if host == "" {
		host = client.DefaultDockerHost
	}
	return host
}

// New makes a store. It reads the environment and checks the host's syntax, and connects with the first request.
func New(opts Options) (*Store, error) {
	host := Host(opts.Host)
	cl, err := connect(host, opts.Watch)
	if err != nil {
		return nil, err
	}
	s := &Store{host: host, engine: cl, limits: opts.Timeouts, remember: opts.Remember, answers: map[string]*answer{}, logins: opts.Logins, ledger: opts.Ledger}
	if s.limits.Inspect <= 0 {
		s.limits.Inspect = 10 * time.Second
	}
	if s.limits.Pull <= 0 {
		s.limits.Pull = 10 * time.Minute
	}
	s.pulls = images.NewPulls(s.limits.Pull)
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s, nil
}

// connect makes a client without an overall timeout, which would cut pulls.
func connect(host string, watch engineapi.Observer) (*boundClient, error) {
	var opts []client.Opt
	scheme, _, _ := strings.Cut(host, "://")
	switch scheme {
	case "ssh":
		return nil, fmt.Errorf("docker host %s: ssh is not spoken here: forward the socket (ssh -L) and set DOCKER_HOST to it", host)
	case "unix":
	default:
		opts = append(opts, client.WithTLSClientConfigFromEnv())
	}
	bound := &boundClient{watch: watch}
	opts = append(opts, client.WithHost(host), client.WithVersionFromEnv(), client.WithAPIVersionNegotiation(), bound.tune)
	cl, err := client.NewClientWithOpts(opts...)
	if err != nil {
		return nil, fmt.Errorf("docker host %q: %w", host, err)
	}
	bound.Client = cl
	return bound, nil
}

// maxAnswer bounds what an engine may say in one answer: the progress of a pull of many layers fits.
const maxAnswer = 64 << 20

// boundClient is an engine's client whose answers are bounded.
type boundClient struct {
	*client.Client
	transport *http.Transport
	watch     engineapi.Observer
}

// Close closes idle connections.
func (c *boundClient) Close() error {
	c.transport.CloseIdleConnections()
	return c.Client.Close()
}

// tune runs as the client's last option. It keeps more connections for reuse than the client's default of two, and bounds
// the answers.
func (c *boundClient) tune(cl *client.Client) error {
	transport, ok := cl.HTTPClient().Transport.(*http.Transport)
	if !ok {
		return fmt.Errorf("unexpected transport %T", cl.HTTPClient().Transport)
	}
	c.transport = transport
	transport.MaxIdleConns, transport.MaxIdleConnsPerHost = 16, 16
	transport.IdleConnTimeout = 30 * time.Second
	scheme := "http"
	if transport.TLSClientConfig != nil { // the client can't see it behind the bound
		scheme = "https"
	}
	if err := client.WithScheme(scheme)(cl); err != nil {
		return err
	}
	return client.WithHTTPClient(&http.Client{Transport: engineapi.Watch(bounded{transport}, c.watch), CheckRedirect: client.CheckRedirect})(cl)
}

// bounded reads at most maxAnswer of each body. What is longer fails with *http.MaxBytesError.
type bounded struct{ next http.RoundTripper }

func (b bounded) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := b.next.RoundTrip(req)
	if err == nil {
		resp.Body = http.MaxBytesReader(nil, resp.Body, maxAnswer)
	}
	return resp, err
}

// Close ends pulls in flight and closes idle connections.
func (s *Store) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cancel()
	s.pulls.Close()
	s.work.Wait()
	return s.engine.Close()
}
