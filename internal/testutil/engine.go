package testutil

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
)

const defaultEngine = "unix:///var/run/docker.sock"

func pingEngine(ctx context.Context) error {
	_, err := engineGet(ctx, "/_ping")
	return err
}

func haveImage(ref, script string) probe {
	return func(ctx context.Context) error {
		if err := pingEngine(ctx); err != nil {
			return err
		}
		if _, err := engineGet(ctx, "/images/"+ref+"/json"); err != nil {
			return fmt.Errorf("image %s is not there (%w): run %s", ref, err, script)
		}
		return nil
	}
}

func haveRuntime(name, script string) probe {
	return func(ctx context.Context) error {
		text, err := engineGet(ctx, "/info")
		if err != nil {
			return err
		}
		var info struct{ Runtimes map[string]any }
		if err := json.Unmarshal(text, &info); err != nil {
			return fmt.Errorf("GET /info: %w", err)
		}
		if info.Runtimes[name] == nil {
			return fmt.Errorf("the engine has no runtime %s: run %s", name, script)
		}
		return nil
	}
}

// engineGet asks the engine at DOCKER_HOST for a path. Every answer but 200 is an error.
func engineGet(ctx context.Context, path string) ([]byte, error) {
	host := os.Getenv("DOCKER_HOST")
	if host == "" {
		host = defaultEngine
	}
	network, addr, err := engineAddr(host)
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, network, addr)
	}}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://engine"+path, nil)
	if err != nil {
		return nil, err
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return nil, fmt.Errorf("no engine answers at %s (%w): run scripts/engine", host, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return nil, fmt.Errorf("GET %s: %w", path, err)
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("GET %s: %s", path, resp.Status)
	}
	return body, nil
}

func engineAddr(host string) (network, addr string, err error) {
	u, err := url.Parse(host)
	if err != nil {
		return "", "", fmt.Errorf("DOCKER_HOST: %w", err)
	}
	switch u.Scheme {
	case "unix":
		return "unix", u.Path, nil
	case "tcp", "http":
		return "tcp", u.Host, nil
	}
	return "", "", fmt.Errorf("DOCKER_HOST=%s: tests reach an engine at unix:// or tcp:// only", host)
}
