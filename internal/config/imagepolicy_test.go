package config

import (
	"errors"
	"strings"
	"testing"

	"github.com/hotcell/hotcell/images"
)

func TestImagePolicy(t *testing.T) {
	digest := "@sha256:" + strings.Repeat("a", 64)
	for name, tt := range map[string]struct {
		patterns []string
		digest   bool
		ref      string
		why      string
	}{
		"everything":                    {[]string{"*"}, false, "evil.example/x:1", ""},
		"nothing":                       {nil, false, "python", "policy.images.registries does not allow docker.io/library/python"},
		"a registry":                    {[]string{"ghcr.io"}, false, "ghcr.io/a/b:1", ""},
		"another":                       {[]string{"ghcr.io"}, false, "python:3", "does not allow docker.io/library/python"},
		"a look-alike":                  {[]string{"ghcr.io"}, false, "ghcr.io.evil.example/a", "does not allow ghcr.io.evil.example/a"},
		"a path that looks like it":     {[]string{"ghcr.io"}, false, "evil.example/ghcr.io/a", "does not allow"},
		"upper case":                    {[]string{"ghcr.io"}, false, "GHCR.IO/a", ""},
		"upper case is a registry":      {[]string{"docker.io"}, false, "Evil/a", "does not allow Evil/a"},
		"a port":                        {[]string{"localhost:5000"}, false, "localhost:5000/a:1", ""},
		"another port":                  {[]string{"localhost"}, false, "localhost:5000/a:1", "does not allow"},
		"below a domain":                {[]string{"*.example.org"}, false, "r.example.org/a", ""},
		"the domain itself":             {[]string{"*.example.org"}, false, "example.org/a", "does not allow"},
		"repositories":                  {[]string{"docker.io/hotcell/*"}, false, "hotcell/python:3", ""},
		"other repositories":            {[]string{"docker.io/hotcell/*"}, false, "hotcell2/python:3", "does not allow"},
		"official repositories":         {[]string{"docker.io/library/*"}, false, "docker.io/python:3", ""},
		"an alias of the default":       {[]string{"docker.io"}, false, "index.docker.io/a/b", ""},
		"the alias's official ones":     {[]string{"docker.io/library/python"}, false, "index.docker.io/python" + digest, ""},
		"stars in between":              {[]string{"*.example.org/*/python"}, false, "a.example.org/team/python:3", ""},
		"an id":                         {[]string{"docker.io"}, false, "sha256:" + strings.Repeat("a", 64), "allows named images only"},
		"a short id":                    {[]string{"docker.io"}, false, "0123456789ab", "allows named images only"},
		"an id, everything allowed":     {[]string{"*"}, true, "sha256:" + strings.Repeat("a", 64), ""},
		"a digest":                      {[]string{"*"}, true, "python:3" + digest, ""},
		"no digest":                     {[]string{"*"}, true, "python:3", "policy.images.require_digest: the reference has no @sha256: digest"},
		"a short digest":                {[]string{"*"}, true, "python@sha256:abc", "policy.images.require_digest"},
		"something that only ends like": {[]string{"*"}, true, "python:sha256:" + strings.Repeat("a", 64), "policy.images.require_digest"},
		"the built-in one":              {nil, true, images.Builtin, ""},
		"another of its name":           {nil, false, "evil.example/" + images.Builtin, "does not allow"},
		"empty":                         {[]string{"ghcr.io"}, false, "", "does not allow"},
	} {
		t.Run(name, func(t *testing.T) {
			p := ImagePolicy{Registries: tt.patterns, RequireDigest: tt.digest}
			err := p.Check(tt.ref)
			if tt.why == "" {
				if err != nil {
					t.Errorf("got %v", err)
				}
				return
			}
			var e *images.UnavailableError
			if !errors.As(err, &e) || !strings.Contains(e.Why, tt.why) || e.Retryable {
				t.Errorf("got %v, want %q", err, tt.why)
			}
		})
	}
}
