package config

import (
	"strings"
	"testing"
)

func TestListenElsewhereWantsAuth(t *testing.T) {
	for _, addr := range []string{"0.0.0.0:80", ":80", "[::]:80", "10.1.2.3:80", "cells.example.org:80", "localhost.example:80"} {
		c := Default(true, "", "")
		c.Listen = addr
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "set auth.mode to token or oidc") || !c.Exposed() {
			t.Errorf("%s with nothing: %v", addr, err)
		}
		c.Auth.Mode = AuthToken
		if err := c.Validate(); err != nil {
			t.Errorf("%s with tokens: %v", addr, err)
		}
		c.Listen = strings.TrimSuffix(addr, "80") + "http"
		if err := c.Validate(); err == nil {
			t.Errorf("%s was taken", c.Listen)
		}
	}
	for _, addr := range []string{"127.0.0.1:80", "127.9.9.9:80", "[::1]:80", "localhost:80"} {
		c := Default(true, "", "")
		c.Listen = addr
		if err := c.Validate(); err != nil || c.Exposed() {
			t.Errorf("%s: %v", addr, err)
		}
	}
}

func TestLocalURL(t *testing.T) {
	for addr, want := range map[string]string{
		"127.0.0.1:8765": "http://127.0.0.1:8765", "0.0.0.0:1": "http://127.0.0.1:1", ":1": "http://127.0.0.1:1",
		"[::]:1": "http://[::1]:1", "10.1.2.3:1": "http://10.1.2.3:1", "localhost:1": "http://localhost:1",
	} {
		c := Config{Listen: addr}
		if got := c.LocalURL(); got != want {
			t.Errorf("%s: %s, want %s", addr, got, want)
		}
	}
}

func TestHosts(t *testing.T) {
	for host, ok := range map[string]bool{
		"cells.example.org": true, "10.1.2.3": true, "[::1]": true, "2001:db8::1": true, "a:80": false, "*": false, "http://a": false, "a b": false,
	} {
		if why := checkHosts([]string{host}); (why == "") != ok {
			t.Errorf("%s: %s", host, why)
		}
	}
}
