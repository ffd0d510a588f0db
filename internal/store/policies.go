package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/hotcell/hotcell/internal/control"
)

// policyRow is a policy as it is kept: once, however many calls ran under it.
type policyRow struct {
	digest string // of data
	data   []byte
	used   time.Time
}

func policyOf(p *control.Ran) (r policyRow, err error) {
	if p == nil {
		return r, nil
	}
	if r.data, err = json.Marshal(p); err != nil {
		return r, err
	}
	sum := sha256.Sum256(r.data)
	r.digest = hex.EncodeToString(sum[:16])
	return r, nil
}

const (
	usedGrain     = time.Hour // how exactly it is known when a policy was used last
	knownPolicies = 1000
)

// policyRows are those that are known to be in the file, and since when.
type policyRows struct {
	mu    sync.Mutex
	known map[string]time.Time
}

// news returns the row that has to be written for a call to find its policy; the zero row: none.
func (k *policyRows) news(r policyRow, accepted time.Time) policyRow {
	k.mu.Lock()
	defer k.mu.Unlock()
	if used, ok := k.known[r.digest]; r.digest == "" || ok && accepted.Before(used.Add(usedGrain)) {
		return policyRow{}
	}
	r.used = accepted
	return r
}

// wrote notes that a row is in the file.
func (k *policyRows) wrote(r policyRow) {
	if r.digest == "" {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.known == nil || len(k.known) >= knownPolicies {
		k.known = map[string]time.Time{}
	}
	k.known[r.digest] = r.used
}

func (s *Store) putPolicy(tx *sql.Tx, r policyRow) error {
	if r.digest == "" {
		return nil
	}
	_, err := tx.Exec(`INSERT INTO policies (digest, used, data) VALUES (?, ?, ?) ON CONFLICT (digest) DO UPDATE SET used = excluded.used WHERE policies.used < excluded.used`,
		r.digest, r.used.UnixMicro(), r.data)
	return err
}

// Policy returns the policy that the call with this id ran under, nil where it had none or it is not kept.
func (s *Store) Policy(ctx context.Context, id string) (*control.Ran, error) {
	var data []byte
	err := s.read.QueryRowContext(ctx, `SELECT data FROM policies WHERE digest = (SELECT `+s.engine.field("view", "ran")+` FROM calls WHERE id = ?)`, id).Scan(&data)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, err
	}
	var p control.Ran
	return &p, json.Unmarshal(data, &p)
}

// dropPolicies removes those that no call refers to: the oldest call is younger than whatever used them. Where there is no call, those
// of the last hour stay: who wrote them takes them to be there.
func dropPolicies(now time.Time) trimStep {
	return func(tx *sql.Tx) (bool, error) {
		n, err := affected(tx.Exec(`DELETE FROM policies WHERE digest IN (SELECT digest FROM policies
			WHERE used + ? < coalesce((SELECT min(accepted) FROM calls), ?) LIMIT ?)`, usedGrain.Microseconds(), now.UnixMicro(), trimEvents))
		return n == trimEvents, err
	}
}
