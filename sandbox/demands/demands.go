package demands

import (
	"fmt"
	"path"
	"reflect"
	"regexp"
	"strings"

	"github.com/hotcell/hotcell/sandbox"
	specs "github.com/opencontainers/runtime-spec/specs-go"
)

// Left is what has not been taken of a spec. Errors of its methods wrap [sandbox.ErrUnsupported] and name the field.
type Left struct {
	Spec    *sandbox.Spec
	OCI     specs.Spec // without Process and Linux
	Process specs.Process
	Linux   specs.Linux
}

// Of starts with all of a spec, which is never changed.
func Of(spec *sandbox.Spec) (*Left, error) {
	if spec.OCI == nil || spec.OCI.Process == nil || spec.OCI.Linux == nil || spec.OCI.Root == nil {
		return nil, unsupported("spec of %q: process, root and linux must be set", spec.Name)
	}
	l := &Left{Spec: spec, OCI: *spec.OCI, Process: *spec.OCI.Process, Linux: *spec.OCI.Linux}
	l.OCI.Process, l.OCI.Linux = nil, nil
	return l, nil
}

// Nothing refuses what nobody has taken.
func (l *Left) Nothing() error {
	all := l.OCI
	all.Process, all.Linux = &l.Process, &l.Linux
	if field := leftover(reflect.ValueOf(all), ""); field != "" {
		return unsupported("%s", field)
	}
	return nil
}

// leftover returns the path of the first field that is set, "" if none is. Pointers to zero values count as unset.
func leftover(v reflect.Value, path string) string {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return ""
		}
		return leftover(v.Elem(), path)
	case reflect.Struct:
		for i := range v.NumField() {
			if p := leftover(v.Field(i), join(path, v.Type().Field(i))); p != "" {
				return p
			}
		}
		return ""
	case reflect.Slice, reflect.Map:
		if v.Len() == 0 {
			return ""
		}
		return path
	}
	if v.IsZero() {
		return ""
	}
	return path
}

func join(path string, f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	switch {
	case name == "":
		return path
	case path == "":
		return name
	}
	return path + "." + name
}

func unsupported(format string, args ...any) error {
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), sandbox.ErrUnsupported)
}

// Name is what a cell's name looks like.
var Name = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,126}[a-z0-9])?$`)

// Identity checks the cell's name and that its image is pinned by its content id, and takes the hostname. otherwise is what
// a cell without one would see of its driver.
func (l *Left) Identity(otherwise string) (hostname string, err error) {
	if !Name.MatchString(l.Spec.Name) {
		return "", unsupported("spec name %q: expected lower-case letters, digits and dashes", l.Spec.Name)
	}
	if l.Spec.Image.ID == "" {
		return "", unsupported("spec of %q: image id is empty", l.Spec.Name)
	}
	hostname = l.OCI.Hostname
	if hostname == "" {
		return "", unsupported("hostname: must be set, or the cell would see %s", otherwise)
	}
	l.OCI.Hostname, l.OCI.Version = "", ""
	return hostname, nil
}

// CleanAbs reports whether a path is absolute and names each folder on its way once.
func CleanAbs(p string) bool {
	return path.IsAbs(p) && path.Clean(p) == p && !strings.ContainsRune(p, 0)
}
