package config

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/hotcell/hotcell/images"
)

// Images says which images bundles get that name none, and what becomes of all.
type Images struct {
	Defaults map[string]string // by kind of script: python, sh
	Lock     string            // the file with the pins; "": in the data folder
	Keep     Age               // what hotcell pulled, and nothing needs, goes once it was not used for so long
	Prune    bool              // daemons remove that daily; false: only hotcell images prune does
	Auth     Logins
}

// Logins are references to USER:PASSWORD by the registry that they are for.
type Logins map[string]string

const leastImageKeep = Age(time.Hour)

// LockPath is the file with the pins.
func (c *Config) LockPath() string {
	if c.Images.Lock != "" {
		return c.Images.Lock
	}
	return filepath.Join(c.DataDir, images.LockName)
}

// registryName is a registry as references have it. Its default is docker.io.
var registryName = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,250}[a-z0-9])?(:[0-9]{1,5})?$`)

func (c *Config) imageFaults(v *faults) {
	if k := c.Images.Keep; k < leastImageKeep || k > maxAge {
		v.add("images.keep", fmt.Sprintf("expected a time from %s to %s, not %s", leastImageKeep, maxAge, k))
	}
	if len(c.Images.Auth) > maxListed {
		v.add("images.auth", fmt.Sprintf("%d entries, at most %d are allowed", len(c.Images.Auth), maxListed))
	}
	for _, name := range slices.Sorted(maps.Keys(c.Images.Auth)) {
		v.add("images.auth["+name+"]", checkReference(c.Images.Auth[name]))
	}
	v.add("policy.images.digests", checkList(c.Policy.Images.Digests))
	for _, d := range c.Policy.Images.Digests {
		if d != "*" && (images.Digest(d) != d || d == "") {
			v.add("policy.images.digests", fmt.Sprintf("expected sha256: and 64 hex digits, or *, not %.80q", d))
		}
	}
}

// logins reads a mapping whose keys are registries: with dots and ports, unlike all others.
func (r *reader) logins(key string, n ast.Node) Logins {
	all := Logins{}
	if n.Type() == ast.NullType || n.Type() == ast.CommentType {
		return all
	}
	m, ok := n.(ast.MapNode)
	if !ok {
		r.fault(key, "expected a mapping, not "+kindOf(n), n)
		return all
	}
	for it := m.MapRange(); it.Next(); {
		name, ok := it.Key().(*ast.StringNode)
		if !ok || !registryName.MatchString(name.Value) {
			r.fault(key, "expected a registry as key, such as docker.io or registry.example:5000", it.Key())
			continue
		}
		child, place := key+"["+name.Value+"]", ""
		r.layer.origins[child] = r.origin(it.Value())
		r.part(child, &place, it.Value())
		all[name.Value] = place
	}
	return all
}

// showLogins writes them on one line.
func showLogins(all Logins) string {
	var list []string
	for _, k := range slices.Sorted(maps.Keys(all)) {
		list = append(list, scalar(k)+": "+scalar(all[k]))
	}
	return "{" + strings.Join(list, ", ") + "}"
}
