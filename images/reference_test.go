package images

import (
	"fmt"
	"strings"
	"testing"
)

func TestTag(t *testing.T) {
	digest := "sha256:" + strings.Repeat("a", 64)
	for ref, want := range map[string]string{
		"python":                            "docker.io/library/python:latest",
		"python:3":                          "docker.io/library/python:3",
		"docker.io/python:3":                "docker.io/library/python:3",
		"index.docker.io/team/x":            "docker.io/team/x:latest",
		"team/x:1":                          "docker.io/team/x:1",
		"localhost/x:1":                     "localhost/x:1",
		"registry.example:5000/team/x":      "registry.example:5000/team/x:latest",
		"registry.example:5000/team/x:1":    "registry.example:5000/team/x:1",
		"python@" + digest:                  "",
		"python:3@" + digest:                "",
		digest:                              "",
		"0123456789ab":                      "",
		"registry.example:5000/x@" + digest: "",
	} {
		if got := Tag(ref); got != want {
			t.Errorf("%s: %q, want %q", ref, got, want)
		}
		if want != "" && Tag(want) != want {
			t.Errorf("%s is not its own tag", want)
		}
	}
}

func TestDigest(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0a", 32)
	for ref, want := range map[string]string{
		digest: digest, "x@" + digest: digest, "x:1@" + digest: digest, "x": "", "x@sha256:12": "", "sha256:" + strings.Repeat("g", 64): "",
		"x:" + digest: "", "x@" + strings.ToUpper(digest): "",
	} {
		if got := Digest(ref); got != want {
			t.Errorf("%s: %q, want %q", ref, got, want)
		}
	}
}

func TestParseLogin(t *testing.T) {
	login, err := ParseLogin([]byte("me:pass:word"))
	if err != nil || login.User != "me" || login.Password != "pass:word" {
		t.Errorf("%v, %v", login, err)
	}
	for _, text := range []string{fmt.Sprint(*login), fmt.Sprintf("%v %+v %#v %s", login, *login, *login, login), login.LogValue().String()} {
		if strings.Contains(text, "pass") {
			t.Errorf("it prints as %s", text)
		}
	}
	for _, bad := range []string{"", "secret-token", ":secret-token", "me:", "me:secret-token\nx"} {
		if _, err := ParseLogin([]byte(bad)); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// Whatever a reference is, its tag is a tag of the same repository, or there is none.
func FuzzTag(f *testing.F) {
	for _, seed := range []string{"python", "docker.io/x:1", "a/b:c@sha256:" + strings.Repeat("0", 64), "localhost:1/x", "X/y", ":", "@", "a//b", "0123456789abcdef"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, ref string) {
		tag := Tag(ref)
		if strings.Contains(tag, "@") {
			t.Errorf("%q: %q has a digest", ref, tag)
		}
		if d := Digest(ref); d != "" && (len(d) != 71 || !strings.HasSuffix(ref, d)) {
			t.Errorf("%q: digest %q", ref, d)
		}
		if tag != "" && !strings.Contains(tag, "/") {
			t.Errorf("%q: %q names no registry", ref, tag)
		}
	})
}
