package config

import (
	"errors"
	"fmt"
	"strings"
)

// Layer is one of the four places that values come from, from the weakest to the strongest.
type Layer string

// The layers.
const (
	LayerDefault Layer = "default"
	LayerFile    Layer = "file"
	LayerEnv     Layer = "env"
	LayerFlag    Layer = "flag"
)

// Origin is the place that set a value.
type Origin struct {
	Layer Layer
	Where string // "hotcell.yaml:3:9", the name of a variable or a flag, or ""
}

// String returns "default", "file hotcell.yaml:3:9", "env HOTCELL__LISTEN", "flag" or "flag --skills".
func (o Origin) String() string {
	if o.Where == "" {
		return string(o.Layer)
	}
	return string(o.Layer) + " " + o.Where
}

// Source says where the values of a [Config] came from.
type Source struct {
	Path string // the file that was read; "": none

	origins map[string]Origin
	before  map[string][]Origin
}

// Before notes that a list has entries from other places before its own.
func (s *Source) Before(key string, from ...Origin) {
	if len(from) == 0 {
		return
	}
	if s.before == nil {
		s.before = map[string][]Origin{}
	}
	s.before[key] = append(s.before[key], from...)
}

// text names every place that a key's value came from, in the order of its entries.
func (s Source) text(key string) string {
	var b strings.Builder
	for _, o := range s.before[key] {
		b.WriteString(o.String() + ", then ")
	}
	return b.String() + s.Origin(key).String()
}

// Origin returns what set the value of a key ("sandbox.driver", "images.defaults.python").
func (s Source) Origin(key string) Origin {
	if o, ok := s.origins[key]; ok {
		return o
	}
	return Origin{Layer: LayerDefault}
}

// nearest returns what set the value of a key, or of the nearest key around it: what is missing is missing somewhere.
func (s Source) nearest(key string) Origin {
	for around := key; ; {
		if o, ok := s.origins[around]; ok {
			return o
		}
		i := strings.LastIndexAny(around, ".[")
		if i < 0 {
			return s.Origin(key)
		}
		around = around[:i]
	}
}

// FieldError says what is wrong with one value. It reads "hotcell.yaml:12:3: sandbox.driver: why".
type FieldError struct {
	Key    string
	Why    string
	Origin Origin // the zero value where [Config.Validate] was called alone
}

// Error implements error.
func (e *FieldError) Error() string {
	switch {
	case e.Origin.Where != "":
		return fmt.Sprintf("%s: %s: %s", e.Origin.Where, e.Key, e.Why)
	case e.Origin.Layer == LayerFlag:
		return fmt.Sprintf("flag: %s: %s", e.Key, e.Why)
	}
	return e.Key + ": " + e.Why
}

// maxReported bounds how many errors one load reports.
const maxReported = 10

func joined(list []*FieldError) error {
	var errs []error
	for i, e := range list {
		if i == maxReported {
			errs = append(errs, fmt.Errorf("and %d more", len(list)-i))
			break
		}
		errs = append(errs, e)
	}
	return errors.Join(errs...)
}
