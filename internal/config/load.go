package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/providers/env/v2"
	"github.com/knadh/koanf/v2"
)

// Names in the environment.
const (
	EnvFile   = "HOTCELL_CONFIG" // the file to read
	EnvPrefix = "HOTCELL__"      // of variables that set a key: HOTCELL__SANDBOX__DRIVER; lists are separated by commas
)

// Options says what [Load] reads. A nil function means the operating system's.
type Options struct {
	Path      string                       // of --config; "": $HOTCELL_CONFIG, or the usual places
	Getenv    func(string) string          // an empty variable counts as absent
	Environ   func() []string              // KEY=VALUE; with Getenv set and this nil, misspelt variables are not noticed
	ReadFile  func(string) ([]byte, error) // fails with fs.ErrNotExist for a file that is not there
	Geteuid   func() int                   // 0 gets the system's folders as defaults
	Overrides map[string]any               // by key, from flags: string, []string, bool or int
	Flags     map[string]string            // by key, how the flag is called: "--driver"
}

// Load reads the configuration and validates it: defaults < file < environment < flags. Errors are [FieldError]s,
// joined, that name the file and position, the variable, or the flag; or that of a file that cannot be read.
func Load(opts Options) (*Config, Source, error) {
	o := opts.complete()
	s := newSchema()
	path, file, err := o.file(s)
	if err != nil {
		return nil, Source{}, err
	}
	environ, flags := o.environment(s), o.flags(s)
	if err := joined(append(environ.faults, flags.faults...)); err != nil {
		return nil, Source{}, err
	}
	k, origins, err := merge(file, environ, flags)
	if err != nil {
		return nil, Source{}, err
	}
	src := Source{Path: path, origins: origins}
	home := o.Getenv("HOME")
	if !filepath.IsAbs(home) {
		home = ""
	}
	c := Default(o.Geteuid() == 0, home, o.Getenv("XDG_RUNTIME_DIR"))
	faults := fill(c, k)
	if len(faults) == 0 {
		c.expand(home)
		faults = c.faults()
	}
	for _, f := range faults {
		f.Origin = src.nearest(f.Key)
	}
	if err := joined(faults); err != nil {
		return nil, src, err
	}
	return c, src, nil
}

// merge lays each layer over those before it.
func merge(layers ...*layer) (*koanf.Koanf, map[string]Origin, error) {
	k, origins := koanf.New("."), map[string]Origin{}
	for _, l := range layers {
		if err := k.Load(confmap.Provider(l.values, "."), nil); err != nil {
			return nil, nil, err
		}
		maps.Copy(origins, l.origins)
	}
	return k, origins, nil
}

func (o Options) complete() Options {
	if o.Environ == nil && o.Getenv == nil {
		o.Environ = os.Environ
	}
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.ReadFile == nil {
		o.ReadFile = readFile
	}
	if o.Geteuid == nil {
		o.Geteuid = os.Geteuid
	}
	return o
}

// readFile reads no more than the bound and one byte.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxFile+1))
}

// file reads the first file that is there. One that was asked for must be.
func (o Options) file(s schema) (string, *layer, error) {
	places, must := []string{"hotcell.yaml", "/etc/hotcell/hotcell.yaml"}, false
	if path := o.Getenv(EnvFile); path != "" {
		places, must = []string{path}, true
	}
	if o.Path != "" {
		places, must = []string{o.Path}, true
	}
	for _, path := range places {
		data, err := o.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) && !must {
			continue
		}
		if err != nil {
			return "", nil, fmt.Errorf("configuration: %w", err)
		}
		l, err := parseFile(s, path, data)
		return path, l, err
	}
	return "", newLayer(), nil
}

// environment reads the variables that set a key.
func (o Options) environment(s schema) *layer {
	l := newLayer()
	environ := o.Environ
	if environ == nil {
		environ = func() []string { return known(o.Getenv) }
	}
	provider := env.Provider("", env.Opt{
		Prefix:      EnvPrefix,
		EnvironFunc: environ,
		TransformFunc: func(name, value string) (string, any) {
			key := strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(name, EnvPrefix)), "__", ".")
			from := Origin{Layer: LayerEnv, Where: name}
			switch k := s.kind(key); {
			case value == "":
			case k == leaf && !s.fields[key].isMap() && !s.fields[key].fileOnly(), k == entry:
				l.origins[key] = from
				return key, value
			default:
				l.fault(key, s.notHere(key), from)
			}
			return "", nil
		},
	})
	values, err := provider.Read()
	if err != nil {
		l.fault(EnvPrefix, err.Error(), Origin{Layer: LayerEnv})
	}
	l.values = values
	return l
}

// known lists the variables of all fields, as far as getenv has them.
func known(getenv func(string) string) []string {
	var list []string
	c := Default(true, "", "")
	for _, f := range fields() {
		if f.fileOnly() {
			continue
		}
		names := []string{f.key}
		if m, ok := f.place(c).(*map[string]string); ok {
			names = nil
			for k := range *m {
				names = append(names, f.key+"."+k)
			}
		}
		for _, key := range names {
			name := EnvPrefix + strings.ToUpper(strings.ReplaceAll(key, ".", "__"))
			if v := getenv(name); v != "" {
				list = append(list, name+"="+v)
			}
		}
	}
	return list
}

// flags takes the overrides over, as text.
func (o Options) flags(s schema) *layer {
	l := newLayer()
	for _, key := range slices.Sorted(maps.Keys(o.Overrides)) {
		v, from := o.Overrides[key], Origin{Layer: LayerFlag, Where: o.Flags[key]}
		k := s.kind(key)
		if k != entry && (k != leaf || s.fields[key].isMap() || s.fields[key].fileOnly()) {
			l.fault(key, s.notHere(key), from)
			continue
		}
		if list, ok := v.([]string); ok {
			l.set(key, slices.Clone(list), from)
			continue
		}
		l.set(key, fmt.Sprint(v), from)
	}
	return l
}

// notHere says why a key cannot be set by a variable or a flag.
func (s schema) notHere(key string) string {
	if s.inFileOnly(key) {
		return "set it in the configuration file: it has more to say than one value"
	}
	if k := s.kind(key); k == section || k == leaf {
		return "set the keys below it one by one"
	}
	return s.why(key)
}

// fill decodes the merged layers into c.
func fill(c *Config, k *koanf.Koanf) []*FieldError {
	var v faults
	for _, f := range fields() {
		if !k.Exists(f.key) {
			continue
		}
		if err := decode(f.place(c), k.Get(f.key)); err != nil {
			v.add(f.key, err.Error())
		}
	}
	return v
}

// expand replaces a leading ~/ in paths by the home folder, as a shell would.
func (c *Config) expand(home string) {
	if home == "" {
		return
	}
	if rest, ok := strings.CutPrefix(c.Store.URL, sqliteURL+"~/"); ok {
		c.Store.URL = sqliteURL + filepath.Join(home, rest)
	}
	expandReference(&c.Store.URL, home)
	expandReference(&c.Audit.Key, home)
	paths := []*string{&c.Socket, &c.DataDir, &c.Images.Lock}
	for i := range c.LLM.Providers {
		expandReference(&c.LLM.Providers[i].Credential, home)
	}
	for name, ref := range c.Secrets {
		expandReference(&ref, home)
		c.Secrets[name] = ref
	}
	for name, ref := range c.Images.Auth {
		expandReference(&ref, home)
		c.Images.Auth[name] = ref
	}
	for name, ref := range c.Telemetry.OTLP.Headers {
		expandReference(&ref, home)
		c.Telemetry.OTLP.Headers[name] = ref
	}
	for name, dir := range c.Skills.Plugins {
		if rest, ok := strings.CutPrefix(dir, "~/"); ok {
			c.Skills.Plugins[name] = filepath.Join(home, rest)
		}
	}
	for i := range c.Skills.Dirs {
		paths = append(paths, &c.Skills.Dirs[i])
	}
	for _, p := range paths {
		if rest, ok := strings.CutPrefix(*p, "~/"); ok {
			*p = filepath.Join(home, rest)
		}
	}
}

func expandReference(ref *string, home string) {
	if rest, ok := strings.CutPrefix(*ref, fileReference+"~/"); ok {
		*ref = fileReference + filepath.Join(home, rest)
	}
}

const fileReference = "file:"
