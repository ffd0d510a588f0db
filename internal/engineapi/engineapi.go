package engineapi

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"time"
)

// Observer is told of each request to an engine. It must return at once.
type Observer interface {
	// Asked: fault is "" where the engine answered well, or not_found, conflict, refused, engine, unreachable, timeout.
	Asked(operation, fault string, took time.Duration)
}

// Watch returns a transport that tells of what goes over next. A nil observer gives next itself.
func Watch(next http.RoundTripper, o Observer) http.RoundTripper {
	if o == nil {
		return next
	}
	return watched{next, o}
}

type watched struct {
	next http.RoundTripper
	told Observer
}

// RoundTrip implements [http.RoundTripper].
func (w watched) RoundTrip(req *http.Request) (*http.Response, error) {
	began := time.Now()
	resp, err := w.next.RoundTrip(req)
	status := 0
	if err == nil {
		status = resp.StatusCode
	}
	w.told.Asked(Operation(req.Method, req.URL.Path), Fault(req.Context(), status, err), time.Since(began))
	return resp, err
}

// Fault puts how a request went into one word, "" if it went well. What its sender broke off counts as well: that says
// nothing about the engine.
func Fault(ctx context.Context, status int, err error) string {
	var late net.Error
	switch {
	case err == nil && status < http.StatusBadRequest:
		return ""
	case err != nil && errors.Is(ctx.Err(), context.Canceled):
		return ""
	case err != nil && (ctx.Err() != nil || errors.As(err, &late) && late.Timeout()):
		return "timeout"
	case err != nil:
		return "unreachable"
	case status == http.StatusNotFound:
		return "not_found"
	case status == http.StatusConflict:
		return "conflict"
	case status < http.StatusInternalServerError:
		return "refused"
	}
	return "engine"
}

// Operation names a request: container_create, image_pull. What no adapter asks for is "other".
func Operation(method, path string) string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	if len(parts) > 1 && strings.HasPrefix(parts[0], "v1.") {
		parts = parts[1:]
	}
	last := parts[len(parts)-1]
	switch parts[0] {
	case "_ping":
		return "ping"
	case "version", "info":
		return parts[0]
	case "system":
		return "disk_usage"
	case "containers":
		return container(method, len(parts), last)
	case "volumes":
		return volume(method, len(parts))
	case "images":
		return image(method, len(parts), last)
	}
	return other
}

const other = "other"

func container(method string, parts int, last string) string {
	switch {
	case parts == 2 && method == http.MethodDelete:
		return "container_remove"
	case parts == 2 && last == "create":
		return "container_create"
	case parts == 2 && last == "json":
		return "container_list"
	case parts != 3:
		return other
	}
	switch last {
	case "json":
		return "container_inspect"
	case "archive":
		return "container_copy"
	case "start", "wait", "attach", "kill":
		return "container_" + last
	}
	return other
}

func volume(method string, parts int) string {
	switch {
	case method == http.MethodDelete:
		return "volume_remove"
	case parts == 1 && method == http.MethodGet:
		return "volume_list"
	case method == http.MethodGet:
		return "volume_inspect"
	}
	return other
}

// image: an image's name may have slashes.
func image(method string, parts int, last string) string {
	switch {
	case method == http.MethodDelete:
		return "image_remove"
	case parts == 2 && last == "create":
		return "image_pull"
	case parts == 2 && last == "json":
		return "image_list"
	case parts == 2 && last == "load":
		return "image_load"
	case last == "json":
		return "image_inspect"
	}
	return other
}
