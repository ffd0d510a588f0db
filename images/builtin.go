package images

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"time"
)

// Builtin names the image of skills that bring no program but the engine's: empty, and always there. Each [Store] makes it
// itself the first time it is asked for it.
const Builtin = "hotcell/builtin:1"

// BuiltinArchive is the image [Builtin] for a GOARCH, in the form that docker save writes: one layer with nothing in it. Its
// bytes, and so its id, depend on nothing else.
func BuiltinArchive(arch string) []byte {
	config := builtinConfig(arch)
	name := digest(config) + ".json"
	manifest, _ := json.Marshal([]map[string]any{{"Config": name, "RepoTags": []string{Builtin}, "Layers": []string{"layer.tar"}}}) // plain values
	return archive(
		entry{name, config},
		entry{"layer.tar", archive()},
		entry{"manifest.json", manifest},
	)
}

// BuiltinLayer is the digest of the only layer of [Builtin], by which it is told from others of that name.
func BuiltinLayer() string { return "sha256:" + digest(archive()) }

// BuiltinID is the content id of [Builtin], where that is the digest of its configuration.
func BuiltinID(arch string) string { return "sha256:" + digest(builtinConfig(arch)) }

func builtinConfig(arch string) []byte {
	config, _ := json.Marshal(map[string]any{ // plain values
		"os": "linux", "architecture": arch, "created": "1970-01-01T00:00:00Z", "config": map[string]any{},
		"rootfs":  map[string]any{"type": "layers", "diff_ids": []string{BuiltinLayer()}},
		"history": []map[string]any{{"created": "1970-01-01T00:00:00Z", "created_by": "hotcell"}},
	})
	return config
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

type entry struct {
	name string
	data []byte
}

// archive writes to memory, which doesn't fail.
func archive(entries ...entry) []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		_ = w.WriteHeader(&tar.Header{Name: e.name, Mode: 0o644, Size: int64(len(e.data)), ModTime: time.Unix(0, 0)})
		_, _ = io.Copy(w, bytes.NewReader(e.data))
	}
	_ = w.Close()
	return b.Bytes()
}
