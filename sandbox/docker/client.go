package docker

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/api/types/system"
	"github.com/docker/docker/api/types/volume"
	"github.com/docker/docker/client"
	"github.com/hotcell/hotcell/internal/engineapi"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// containerAPI is what the driver asks of an engine about containers.
type containerAPI interface {
	ContainerCreate(ctx context.Context, config *container.Config, host *container.HostConfig, net *network.NetworkingConfig,
		platform *ocispec.Platform, name string) (container.CreateResponse, error)
	ContainerStart(ctx context.Context, id string, options container.StartOptions) error
	ContainerInspect(ctx context.Context, id string) (container.InspectResponse, error)
	ContainerKill(ctx context.Context, id, signal string) error
	ContainerRemove(ctx context.Context, id string, options container.RemoveOptions) error
	ContainerList(ctx context.Context, options container.ListOptions) ([]container.Summary, error)
	CopyToContainer(ctx context.Context, id, dir string, content io.Reader, options container.CopyToContainerOptions) error
}

// volumeAPI is what the driver asks of an engine about volumes.
type volumeAPI interface {
	VolumeInspect(ctx context.Context, name string) (volume.Volume, error)
	VolumeList(ctx context.Context, options volume.ListOptions) (volume.ListResponse, error)
	VolumeRemove(ctx context.Context, name string, force bool) error
}

// systemAPI is what the driver asks of an engine about itself.
type systemAPI interface {
	Info(ctx context.Context) (system.Info, error)
	ServerVersion(ctx context.Context) (types.Version, error)
	DiskUsage(ctx context.Context, options types.DiskUsageOptions) (types.DiskUsage, error)
	ClientVersion() string
	Close() error
}

// dialer opens a raw connection to the engine, for attach and wait.
type dialer func(ctx context.Context) (net.Conn, error)

// idleConns is how many connections are kept for reuse: about one for each concurrent request.
const idleConns = 64

type connection struct {
	client    *boundClient
	transport *http.Transport
	dial      dialer
	host      string
	watch     engineapi.Observer
}

// connect makes the client. It has no overall timeout, which would cut waits; each request has a deadline instead.
func connect(host string, watch engineapi.Observer) (*connection, error) {
	if host == "" {
		host = os.Getenv(client.EnvOverrideHost)
	}
	if host == "" {
		host = client.DefaultDockerHost
	}
	scheme, _, _ := strings.Cut(host, "://")
	if scheme == "ssh" {
		return nil, fmt.Errorf("docker host %s: ssh is not spoken here: forward the socket (ssh -L) and set DOCKER_HOST to it", host)
	}
	c := &connection{host: host, watch: watch}
	var opts []client.Opt
	if scheme != "unix" {
		if os.Getenv(client.EnvTLSVerify) != "" && os.Getenv(client.EnvOverrideCertPath) == "" { // the client would speak without TLS
			return nil, fmt.Errorf("docker host %s: %s is set and %s is not: set it to the folder of ca.pem, cert.pem and key.pem",
				host, client.EnvTLSVerify, client.EnvOverrideCertPath)
		}
		opts = append(opts, client.WithTLSClientConfigFromEnv())
	}
	opts = append(opts, client.WithHost(host), client.WithVersionFromEnv(), client.WithAPIVersionNegotiation(), c.tune)
	cl, err := client.NewClientWithOpts(opts...)
	if err != nil {
		return nil, fmt.Errorf("docker host %q: %w", host, err)
	}
	c.client = &boundClient{Client: cl, transport: c.transport}
	return c, nil
}

// tune runs as the client's last option: it widens the pool, bounds the answers, and keeps a dialer that, unlike the
// client's own, honours ctx during a TLS handshake too.
func (c *connection) tune(cl *client.Client) error {
	transport, ok := cl.HTTPClient().Transport.(*http.Transport)
	if !ok {
		return fmt.Errorf("unexpected transport %T", cl.HTTPClient().Transport)
	}
	transport.MaxIdleConns, transport.MaxIdleConnsPerHost = idleConns, idleConns
	transport.IdleConnTimeout = 30 * time.Second
	transport.ReadBufferSize, transport.WriteBufferSize = 2<<10, 1<<10 // each cell that waits has a connection; long reads and writes pass them by
	transport.MaxResponseHeaderBytes = maxHead
	u, err := client.ParseHostURL(cl.DaemonHost())
	if err != nil {
		return err
	}
	c.transport = transport
	transport.DialContext = frank(transport.DialContext)
	c.dial = rawDialer(transport.DialContext, u, transport.TLSClientConfig)
	scheme := "http"
	if transport.TLSClientConfig != nil { // the client can't see it behind the bound
		scheme = "https"
	}
	if err := client.WithScheme(scheme)(cl); err != nil {
		return err
	}
	return client.WithHTTPClient(&http.Client{Transport: engineapi.Watch(bounded{transport}, c.watch), CheckRedirect: client.CheckRedirect})(cl)
}

// frank keeps the reason of a dial that failed because this process can open no more files: of a failure to dial, the
// client tells only that the engine is not there.
func frank(dial dialContext) dialContext {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		for _, full := range []error{syscall.EMFILE, syscall.ENFILE} {
			if errors.Is(err, full) {
				return nil, full
			}
		}
		return conn, err
	}
}

type dialContext = func(ctx context.Context, network, addr string) (net.Conn, error)

func rawDialer(dial dialContext, u *url.URL, cfg *tls.Config) dialer {
	proto := u.Scheme
	if proto == "http" || proto == "https" {
		proto = "tcp"
	}
	return func(ctx context.Context) (net.Conn, error) {
		conn, err := dial(ctx, proto, u.Host)
		if err != nil || cfg == nil {
			return conn, err
		}
		cfg := cfg.Clone()
		if cfg.ServerName == "" {
			cfg.ServerName = u.Hostname()
		}
		secure := tls.Client(conn, cfg)
		if err := secure.HandshakeContext(ctx); err != nil {
			_ = conn.Close()
			return nil, err
		}
		return secure, nil
	}
}
