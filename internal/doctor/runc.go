package doctor

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// escape is a known way out of containers that runc has made.
type escape struct {
	cve   string
	fixed []string // the first fixed release of each branch, oldest first
}

// escapes are those of runc's changelog since 2024.
func escapes() []escape {
	late := []string{"1.2.8", "1.3.3", "1.4.0-rc.3"}
	return []escape{
		{"CVE-2024-21626", []string{"1.1.12"}},
		{"CVE-2024-45310", []string{"1.1.14", "1.2.0"}},
		{"CVE-2025-31133", late},
		{"CVE-2025-52565", late},
		{"CVE-2025-52881", late},
		{"CVE-2026-41579", []string{"1.3.6", "1.4.3", "1.5.0-rc.3"}},
	}
}

// state is what can be said of one escape.
type state string

const (
	open    state = "open"
	closed  state = "fixed"
	unknown state = "unknown" // a distribution may have put the fix into an older release
)

// finding is an escape as one runc has it.
type finding struct {
	CVE   string
	State state
}

// packages are those of distributions whose changelogs were read: what they fix beside their release, and so what not.
func packages() map[string][]string {
	return map[string][]string{
		"1.1.5+ds1-1":         nil,                // 29 March 2023
		"1.1.5+ds1-1+deb12u1": {"CVE-2024-21626"}, // 2 February 2024
	}
}

// later names packages by a beginning that all later ones of their release share, and what those fix for sure.
func later() map[string][]string {
	return map[string][]string{"1.1.5+ds1-1+deb12u": {"CVE-2024-21626"}}
}

// runcFindings says which known escapes a runc of that version has. distro is the distribution whose package it is, ""
// for runc's own releases. It returns nothing for a version that can't be read.
func runcFindings(version string) (findings []finding, distro string) {
	v, ok := parseVersion(version)
	if !ok {
		return nil, ""
	}
	distro = distribution(v.rest)
	read, known := packages()[version]
	for _, e := range escapes() {
		f := finding{e.cve, open}
		switch {
		case v.has(e.fixed), slices.Contains(read, e.cve), fixedLater(version, e.cve):
			f.State = closed
		case distro != "" && !known:
			f.State = unknown
		}
		findings = append(findings, f)
	}
	return findings, distro
}

func fixedLater(version, cve string) bool {
	for beginning, fixed := range later() {
		if strings.HasPrefix(version, beginning) && slices.Contains(fixed, cve) {
			return true
		}
	}
	return false
}

// runcVersion is a release, and what stands behind it.
type runcVersion struct {
	major, minor, patch, candidate int // no candidate: above all
	rest                           string
}

var versionPattern = regexp.MustCompile(`^v?(\d{1,4})\.(\d{1,4})\.(\d{1,4})(?:[-~]rc\.?(\d{1,4}))?(.*)$`)

func parseVersion(s string) (runcVersion, bool) {
	m := versionPattern.FindStringSubmatch(strings.TrimSpace(s))
	if m == nil {
		return runcVersion{}, false
	}
	v := runcVersion{candidate: math.MaxInt, rest: m[5]}
	for i, field := range []*int{&v.major, &v.minor, &v.patch, &v.candidate} {
		if m[i+1] != "" {
			*field, _ = strconv.Atoi(m[i+1]) // at most four digits
		}
	}
	return v, v.rest == "" || strings.ContainsAny(v.rest[:1], "+-~.")
}

func (v runcVersion) compare(o runcVersion) int {
	return cmp.Or(cmp.Compare(v.major, o.major), cmp.Compare(v.minor, o.minor), cmp.Compare(v.patch, o.patch), cmp.Compare(v.candidate, o.candidate))
}

// has reports whether a release contains a fix that came with the releases of a list: one of its own branch, or an earlier
// branch's where its own began later.
func (v runcVersion) has(fixed []string) bool {
	for i, s := range fixed {
		f, _ := parseVersion(s)
		same := f.major == v.major && f.minor == v.minor
		if (same || i == len(fixed)-1) && v.compare(f) >= 0 {
			return true
		}
	}
	return false
}

// distribution names who made a package, from what stands behind the release.
func distribution(rest string) string {
	for _, d := range [][2]string{
		{"ubuntu", "Ubuntu"}, {"deb", "Debian"}, {"+ds", "Debian"}, {".el", "RHEL"}, {".fc", "Fedora"}, {".amzn", "Amazon Linux"}, {"-r", "Alpine"},
	} {
		if strings.Contains(rest, d[0]) {
			return d[1]
		}
	}
	if rest != "" && !strings.HasPrefix(rest, "+dev") && !describePattern.MatchString(rest) {
		return "a distribution"
	}
	return ""
}

// describePattern matches what git puts behind a tag.
var describePattern = regexp.MustCompile(`^-\d+-g[0-9a-f]+(-dirty)?$`)

// stuck reports whether a release can hang on containers that end at once (runc issue 5208).
func stuck(version string) bool {
	v, ok := parseVersion(version)
	return ok && v.major == 1 && v.minor == 3 && v.patch < 6
}

// runc judges the engine's runc.
func (e *exam) runc() {
	const id, newest = "runc", "runc 1.3.6, 1.4.3 or newer mends them"
	if e.noEngine(id) {
		return
	}
	version := e.facts.Engine.Runc
	if _, there := e.facts.Engine.Runtimes["runc"]; e.direct() && !there {
		e.skip(id, "there is none on this host")
		return
	}
	findings, distro := runcFindings(version)
	if findings == nil {
		e.add(id, Warn, "the engine does not say which version: "+word(version), "look at 'runc --version' on its host: "+newest)
		return
	}
	byState := map[state][]string{}
	for _, f := range findings {
		byState[f.State] = append(byState[f.State], f.CVE)
	}
	found := word(version)
	if distro != "" {
		found += " by " + distro
	}
	for _, part := range []struct {
		state state
		text  string
	}{{closed, "fixed"}, {open, "open"}, {unknown, "unknown, since fixes may have been put into the package"}} {
		if list := byState[part.state]; len(list) > 0 {
			found += fmt.Sprintf("; %s: %s", part.text, strings.Join(list, ", "))
		}
	}
	if stuck(version) {
		found += "; may hang on processes that end at once (runc issue 5208)"
	}
	bad := len(byState[open]) + len(byState[unknown])
	switch {
	case bad > 0 && distro != "" && len(byState[unknown]) > 0:
		e.add(id, Warn, found, "look them up in "+distro+"'s security tracker; "+newest+"; run only images that you trust")
	case bad > 0:
		e.add(id, Warn, found, newest+"; until then run only images that you trust: cells keep the other ways shut")
	case stuck(version):
		e.add(id, Warn, found, "runc 1.3.6 or newer mends that")
	default:
		e.ok(id, "%s", found)
	}
}
