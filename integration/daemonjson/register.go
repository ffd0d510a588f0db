package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// oci is a runtime as the engine's file states it.
type oci struct {
	Path string   `json:"path"`
	Args []string `json:"runtimeArgs,omitempty"`
}

// object keeps the values that are not ours byte by byte.
type object map[string]json.RawMessage

// register puts the runtime into the file, which need not be there, and reports whether the file had to change. A file
// that it cannot read as a JSON object stays as it is.
func register(file, name string, want oci) (bool, error) {
	target, mode, old, err := load(file)
	if err != nil {
		return false, err
	}
	whole, runtimes := object{}, object{}
	if err := decode(old, &whole); err != nil {
		return false, fmt.Errorf("%s: expected a JSON object: %w", file, err)
	}
	if err := decode(whole["runtimes"], &runtimes); err != nil {
		return false, fmt.Errorf("%s: runtimes: expected a JSON object: %w", file, err)
	}
	if same(runtimes[name], want) {
		return false, nil
	}
	if err := set(runtimes, name, want); err != nil {
		return false, err
	}
	if err := set(whole, "runtimes", runtimes); err != nil {
		return false, err
	}
	text, err := json.MarshalIndent(whole, "", "  ")
	if err != nil {
		return false, err
	}
	return true, replace(target, append(text, '\n'), mode)
}

// load follows a link, so that what is replaced is the file and not the link to it.
func load(file string) (target string, mode fs.FileMode, text []byte, err error) {
	target, err = filepath.EvalSymlinks(file)
	if errors.Is(err, fs.ErrNotExist) {
		return file, 0o644, nil, nil
	}
	if err != nil {
		return "", 0, nil, err
	}
	info, err := os.Stat(target)
	if err != nil {
		return "", 0, nil, err
	}
	text, err = os.ReadFile(target)
	return target, info.Mode().Perm(), text, err
}

// decode reads an object; nothing at all is an empty one, as it is for the engine.
func decode(text []byte, into *object) error {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil
	}
	if err := json.Unmarshal(text, into); err != nil {
		return err
	}
	if *into == nil {
		return errors.New("it is null")
	}
	return nil
}

func same(text json.RawMessage, want oci) bool {
	var have oci
	return text != nil && json.Unmarshal(text, &have) == nil && have.Path == want.Path && slices.Equal(have.Args, want.Args)
}

func set(o object, key string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	o[key] = text
	return nil
}

// replace writes beside the file and renames, so that an engine never reads half of it.
func replace(file string, text []byte, mode fs.FileMode) (err error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(file), ".daemon-*.json")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(tmp.Name()))
		}
	}()
	_, err = tmp.Write(text)
	if err == nil {
		err = tmp.Chmod(mode)
	}
	if err == nil {
		err = tmp.Sync()
	}
	if err = errors.Join(err, tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), file)
}
