package a2ahost

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/hotcell/hotcell/internal/a2e"
)

const (
	cardAge   = 60 // seconds that a card may be kept
	mostCards = 16 // of the public card, for each name of the listener and form one
)

// cards are the public cards as they were served last.
type cards struct {
	mu     sync.Mutex
	byBase map[string]*servedCard
}

type servedCard struct {
	body []byte
	tag  string
	made time.Time
}

// base is the URL of the listener as a request has reached it. The listener has checked the name.
func (h *Host) base(r *http.Request) string {
	if h.opts.URL != "" {
		return strings.TrimSuffix(h.opts.URL, "/")
	}
	if r.TLS != nil {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

// serveCard answers with the public card: what everybody may see.
func (h *Host) serveCard(w http.ResponseWriter, r *http.Request) {
	card, err := h.public(r.Context(), h.base(r), readerOf(r))
	if err != nil {
		_, body := h.fault(err, "card").body()
		writeJSON(w, http.StatusServiceUnavailable, mediaJSON, body)
		return
	}
	head := w.Header()
	head.Set("Content-Type", mediaJSON)
	head.Set("Cache-Control", fmt.Sprintf("public, max-age=%d", cardAge))
	head.Set("ETag", card.tag)
	head.Set("Vary", "User-Agent")
	http.ServeContent(w, r, "", card.made, bytes.NewReader(card.body))
}

// public returns the public card. It keeps its date as long as it stays the same.
func (h *Host) public(ctx context.Context, base string, by reader) (*servedCard, error) {
	s, err := h.shelf(ctx, a2e.Caller{Door: door})
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(by.form(h.card(s, base, true)))
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(body)
	tag := `"` + hex.EncodeToString(sum[:16]) + `"`
	h.cards.mu.Lock()
	defer h.cards.mu.Unlock()
	base = string(by) + base
	if old := h.cards.byBase[base]; old != nil && old.tag == tag {
		return old, nil
	}
	if h.cards.byBase == nil || len(h.cards.byBase) >= mostCards {
		h.cards.byBase = map[string]*servedCard{}
	}
	card := &servedCard{body, tag, time.Now().UTC().Truncate(time.Second)}
	h.cards.byBase[base] = card
	return card, nil
}

// extended returns the card of who asks: with its principal's own skills too.
func (h *Host) extended(r *http.Request, who a2e.Caller) (any, error) {
	if !h.auth() {
		return nil, faultf(a2a.ErrUnsupportedOperation, "there is no extended card: nobody has to show who they are here")
	}
	s, err := h.shelf(r.Context(), who)
	if err != nil {
		return nil, err
	}
	return readerOf(r).form(h.card(s, h.base(r), false)), nil
}
