package a2ahost

import (
	"net/http"
	"regexp"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

var versionForm = regexp.MustCompile(`^(\d{1,9})\.(\d{1,9})(\.\d{1,9})?$`)

// speaks reports an error unless a request asks for A2A 1.0. Patch numbers do not count. Who names none means 0.3.
func (h *Host) speaks(r *http.Request) error {
	asked := r.Header.Values(a2a.SvcParamVersion)
	if len(asked) == 0 {
		for key, values := range r.URL.Query() {
			if strings.EqualFold(key, a2a.SvcParamVersion) {
				asked = append(asked, values...)
			}
		}
	}
	for _, v := range asked {
		v = strings.TrimSpace(v)
		m := versionForm.FindStringSubmatch(v)
		switch {
		case v == "" && h.opts.Lenient:
		case m == nil || m[1]+"."+m[2] != string(a2a.Version):
			return faultf(a2a.ErrVersionNotSupported, "A2A version %q is not supported: expected %s", clip(v, 20), a2a.Version)
		}
	}
	if len(asked) == 0 && !h.opts.Lenient {
		return faultf(a2a.ErrVersionNotSupported, "a request without the header %s means version 0.3, which is not supported: send %s", a2a.SvcParamVersion, a2a.Version)
	}
	return nil
}

// activate tells a client that asked for the extension that it has it. Others that it asks for are ignored.
func activate(w http.ResponseWriter, r *http.Request) {
	for _, line := range r.Header.Values(a2a.SvcParamExtensions) {
		for uri := range strings.SplitSeq(line, ",") {
			if strings.TrimSpace(uri) == Extension {
				w.Header().Set(a2a.SvcParamExtensions, Extension)
				return
			}
		}
	}
}
