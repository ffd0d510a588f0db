package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
)

// engine makes one request to the Engine API, past hotcell, and decodes the answer into out, unless that is nil.
func engine(method, path string, in, out any) error {
	text, err := spoken(method, path, in)
	if err != nil || out == nil {
		return err
	}
	return json.Unmarshal(text, out)
}

// spoken is engine with the answer as it is.
func spoken(method, path string, in any) ([]byte, error) {
	socket := "/var/run/docker.sock"
	if host := os.Getenv("DOCKER_HOST"); host != "" {
		var ok bool
		if socket, ok = strings.CutPrefix(host, "unix://"); !ok {
			return nil, fmt.Errorf("these tests need an engine on a unix socket, not %s", host)
		}
	}
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", socket)
	}}
	defer transport.CloseIdleConnections()
	body, err := json.Marshal(in)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequest(method, "http://engine"+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return nil, err
	case resp.StatusCode >= 300:
		return nil, fmt.Errorf("%s %s: %s %s", method, path, resp.Status, text)
	}
	return text, nil
}

// container makes one past hotcell and brings it into a state: created, running, exited or paused. It is removed at the
// test's end, if it is still there.
func container(t *testing.T, name, state string, labels map[string]string) (id string) {
	t.Helper()
	command := []string{"sleep", "600"}
	if state == "exited" {
		command = []string{"true"}
	}
	var made struct{ ID string }
	err := engine(http.MethodPost, "/containers/create?name="+name, map[string]any{
		"Image": "hotcell/python:3", "Entrypoint": command, "Labels": labels, "NetworkDisabled": true,
		"HostConfig": map[string]any{"NetworkMode": "none"},
	}, &made)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = engine(http.MethodDelete, "/containers/"+made.ID+"?force=1", nil, nil) })
	var steps []string
	switch state {
	case "running":
		steps = []string{"start"}
	case "exited":
		steps = []string{"start", "wait"}
	case "paused":
		steps = []string{"start", "pause"}
	}
	for _, step := range steps {
		if err := engine(http.MethodPost, "/containers/"+made.ID+"/"+step, nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	return made.ID
}

// state is the engine's word for how a container is, "" once it is gone.
func state(id string) string {
	var c struct{ State struct{ Status string } }
	if err := engine(http.MethodGet, "/containers/"+id+"/json", nil, &c); err != nil {
		return ""
	}
	return c.State.Status
}
