package compile

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/hotcell/hotcell/internal/wall"
	"github.com/hotcell/hotcell/sandbox"
)

// Key names all that a compiled spec decides: what the cell runs, with which files, under which limits and system calls. It
// is made of the spec itself and not of what the spec was compiled from, so that nothing can be forgotten. Of whose the cell
// is (its name, its labels but for the skill's, its user id, its token) nothing goes in but the tenant, whose cells are for
// its own calls alone.
//
// spec must have been compiled with [MinUID], which stands for any user id, and with [AnyToken] where it has a token.
func Key(spec *sandbox.Spec) (string, error) {
	if uid := spec.OCI.Process.User.UID; uid != MinUID {
		return "", fmt.Errorf("key of a spec with user id %d: expected %d", uid, MinUID)
	}
	for _, entry := range spec.OCI.Process.Env {
		if token, ok := strings.CutPrefix(entry, wall.EnvToken+"="); ok && token != AnyToken {
			return "", errors.New("key of a spec with a cell's own token")
		}
	}
	type tree struct{ Name, Digest, Target string }
	all := struct {
		Skill   string
		Tenant  string `json:",omitempty"`
		Image   sandbox.Image
		Trees   []tree
		Runtime string
		ShmSize int64
		OCI     any
	}{Skill: spec.Labels[sandbox.LabelSkill], Tenant: spec.Tenant, Image: spec.Image, Runtime: spec.Runtime, ShmSize: spec.ShmSize, OCI: spec.OCI}
	for _, t := range spec.Trees {
		all.Trees = append(all.Trees, tree{t.Name, t.Digest, t.Target})
	}
	b, err := json.Marshal(all)
	if err != nil {
		return "", fmt.Errorf("key of a spec: %w", err)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), nil
}
