package a2ahost

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"

	"github.com/hotcell/hotcell/internal/catalog"
	"github.com/hotcell/hotcell/internal/testutil"
)

// dressed is a skill that says everything of itself.
func dressed() catalog.Entry {
	return entry("dressed", oneText, func(e *catalog.Entry) {
		category := "clothes"
		e.Definition.Tags, e.Definition.Category, e.Definition.Triggers = []string{"hat", "", "coat"}, &category, []string{"dress it"}
		e.Definition.ArgumentHint, e.Definition.OutputSchema = "[text]", json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)
		e.Examples = []any{"plain words", map[string]any{"text": "a < b"}, 3}
		e.InputModes, e.OutputModes = []string{"Text/Markdown", "application/json"}, []string{"image/png"}
	})
}

func bare() catalog.Entry {
	return entry("bare", anything, func(e *catalog.Entry) { e.Definition.Description = " " })
}

func filed() catalog.Entry {
	return entry("filed", numbers, func(e *catalog.Entry) { category := "maths"; e.Definition.Category = &category })
}

func TestCardGolden(t *testing.T) {
	for name, s := range map[string]Security{"none": {}, "token": {Tokens: true}, "oidc": {Tokens: true, Issuer: "https://issuer.example/"}} {
		t.Run(name, func(t *testing.T) {
			r := open(t, newFake(dressed(), bare(), filed()), func(o *Options) { o.Security, o.URL = s, "https://cells.example/" })
			var v any
			if err := json.Unmarshal(r.raw(http.MethodGet, CardPath, "", "User-Agent", "curl/8").body, &v); err != nil {
				t.Fatal(err)
			}
			pretty, _ := json.MarshalIndent(v, "", "  ")
			testutil.Golden(t, "testdata/card-"+name+".json", append(pretty, '\n'))
		})
	}
}

// The official Go client reads a card with security requirements, though it wants them in another form than the specification.
func TestCardsForTheGoClient(t *testing.T) {
	r := open(t, usual(), func(o *Options) { o.Security = Security{Tokens: true, Issuer: "https://issuer.example"} })
	card, err := agentcard.NewResolver(r.http).Resolve(context.Background(), r.url)
	if err != nil || len(card.SecurityRequirements) != 2 || len(card.SecuritySchemes) != 2 {
		t.Fatalf("got %+v, %v", card, err)
	}
	inGo := r.raw(http.MethodGet, CardPath, "", "User-Agent", "Go-http-client/2.0")
	others := r.raw(http.MethodGet, CardPath, "", "User-Agent", "node")
	if inGo.header.Get("ETag") == others.header.Get("ETag") || !strings.Contains(others.header.Get("Vary"), "User-Agent") {
		t.Errorf("got %v %v", inGo.header, others.header)
	}
	if !strings.Contains(string(others.body), `"securityRequirements":[{"schemes":{"token":{"list":[]}}},{"schemes":{"oidc":{"list":[]}}}]`) {
		t.Errorf("got %s", others.body)
	}
}

// The card is what the specification wants of one: required fields, non-empty arrays, unique ids.
func TestCardIsValid(t *testing.T) {
	for name, f := range map[string]*fake{"usual": usual(), "empty": newFake(), "odd": newFake(dressed(), bare(), filed(), bare())} {
		r := open(t, f)
		card, err := agentcard.NewResolver(r.http).Resolve(context.Background(), r.url)
		if err != nil {
			t.Fatal(err)
		}
		if card.Name == "" || card.Description == "" || card.Version != "1.2.3" || len(card.DefaultInputModes) == 0 || len(card.DefaultOutputModes) == 0 {
			t.Errorf("%s: got %+v", name, card)
		}
		if len(card.Skills) == 0 {
			t.Errorf("%s: a card without skills", name)
		}
		ids := map[string]bool{}
		for _, s := range card.Skills {
			if s.ID == "" || s.Name == "" || strings.TrimSpace(s.Description) == "" || len(s.Tags) == 0 || slices.Contains(s.Tags, "") || ids[s.ID] {
				t.Errorf("%s: got %+v", name, s)
			}
			if len(s.InputModes) == 0 || len(s.OutputModes) == 0 {
				t.Errorf("%s: %s has no modes", name, s.ID)
			}
			ids[s.ID] = true
		}
		if !ids[catalogue] {
			t.Errorf("%s: nothing lists the skills", name)
		}
		first, second := card.SupportedInterfaces[0], card.SupportedInterfaces[1]
		if first.ProtocolBinding != a2a.TransportProtocolJSONRPC || first.URL != r.url+"/a2a/rpc" || first.ProtocolVersion != "1.0" ||
			second.ProtocolBinding != a2a.TransportProtocolHTTPJSON || second.URL != r.url+"/a2a" || second.ProtocolVersion != "1.0" {
			t.Errorf("got %+v %+v", first, second)
		}
		c := card.Capabilities
		if !c.Streaming || c.PushNotifications || c.ExtendedAgentCard || len(c.Extensions) != 1 || c.Extensions[0].Required || c.Extensions[0].URI != Extension {
			t.Errorf("got %+v", c)
		}
		if len(card.SecuritySchemes)+len(card.SecurityRequirements) > 0 {
			t.Errorf("got %+v", card.SecuritySchemes)
		}
	}
}

func TestExtensionCarriesSchemas(t *testing.T) {
	r := open(t, newFake(dressed(), bare()))
	card, err := agentcard.NewResolver(r.http).Resolve(context.Background(), r.url)
	if err != nil {
		t.Fatal(err)
	}
	skills := card.Capabilities.Extensions[0].Params["skills"].(map[string]any)
	got := skills["dressed"].(map[string]any)
	if got["inputSchema"].(map[string]any)["type"] != "object" || got["argumentHint"] != "[text]" || got["outputSchema"] == nil || got["triggers"] == nil {
		t.Errorf("got %v", got)
	}
	if len(skills["bare"].(map[string]any)) != 0 {
		t.Errorf("got %v", skills["bare"])
	}
}

// What is not everybody's, or not published, is on no public card.
func TestPublicCardIsPublic(t *testing.T) {
	f := newFake(entry("shown", anything),
		entry("own", anything, func(e *catalog.Entry) { e.Shared = false }),
		entry("draft", anything, func(e *catalog.Entry) { e.Definition.Status = "Created" }))
	f.private["ann"] = []catalog.Entry{entry("ann-only", anything, func(e *catalog.Entry) { e.Shared = false })}
	r := open(t, f, func(o *Options) { o.Security.Tokens = true })
	got := string(r.raw(http.MethodGet, CardPath, "", "X-Test-Principal", "ann").body)
	for _, hidden := range []string{"own", "draft", "ann-only"} {
		if strings.Contains(got, `"`+hidden+`"`) {
			t.Errorf("%s is on the public card: %s", hidden, got)
		}
	}
	if !strings.Contains(got, `"shown"`) {
		t.Errorf("got %s", got)
	}
}

func TestExtendedCard(t *testing.T) {
	f := newFake(entry("shown", anything))
	f.private["ann"] = []catalog.Entry{entry("ann-only", anything, func(e *catalog.Entry) { e.Shared = false })}
	r := open(t, f, func(o *Options) { o.Security.Tokens = true })
	for _, b := range bindings() {
		for who, want := range map[string][]string{"ann": {"ann-only", "shown", catalogue}, "bob": {"shown", catalogue}} {
			card, err := r.client(b, who).GetExtendedAgentCard(within(t), &a2a.GetExtendedAgentCardRequest{})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, s := range card.Skills {
				got = append(got, s.ID)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: %s", who, diff)
			}
		}
	}
	if got := r.rpc(`{"jsonrpc":"2.0","id":1,"method":"GetExtendedAgentCard"}`); got.Error != nil {
		t.Errorf("without params: %+v", got.Error)
	}
	open := open(t, f)
	if got := open.rpc(rpcCall("GetExtendedAgentCard", "{}")); got.Error == nil || got.Error.Code != -32004 {
		t.Errorf("got %+v", got)
	}
	if got := open.raw(http.MethodGet, "/a2a/extendedAgentCard", ""); got.status != 400 {
		t.Errorf("got %d %s", got.status, got.body)
	}
}

func TestCardIsCached(t *testing.T) {
	f := newFake(entry("one", anything))
	r := open(t, f)
	get := func(headers ...string) reply { return r.raw(http.MethodGet, CardPath, "", headers...) }
	first := get()
	tag, when := first.header.Get("ETag"), first.header.Get("Last-Modified")
	if first.status != 200 || tag == "" || when == "" || !strings.Contains(first.header.Get("Cache-Control"), "max-age=") || first.header.Get("Content-Type") != mediaJSON {
		t.Fatalf("got %d %v", first.status, first.header)
	}
	if _, err := time.Parse(http.TimeFormat, when); err != nil {
		t.Error(err)
	}
	for _, same := range [][]string{{"If-None-Match", tag}, {"If-None-Match", `"x", ` + tag}, {"If-Modified-Since", when}} {
		if got := get(same...); got.status != http.StatusNotModified || len(got.body) != 0 || got.header.Get("ETag") != tag {
			t.Errorf("%v: got %d %s", same, got.status, got.body)
		}
	}
	if got := get("If-None-Match", `"other"`); got.status != 200 {
		t.Errorf("got %d", got.status)
	}
	asked := f.asked
	get()
	if f.asked != asked {
		t.Error("the catalogue was asked though nothing has changed")
	}
	f.mu.Lock()
	f.entries = append(f.entries, entry("two", anything))
	f.mu.Unlock()
	f.version.Add(1)
	if got := get("If-None-Match", tag); got.status != 200 || got.header.Get("ETag") == tag || !strings.Contains(string(got.body), `"two"`) {
		t.Errorf("got %d %v", got.status, got.header)
	}
	if got := r.raw(http.MethodHead, CardPath, ""); got.status != 200 || len(got.body) != 0 {
		t.Errorf("got %d %s", got.status, got.body)
	}
}

func TestCardOfABrokenCatalogue(t *testing.T) {
	f := newFake()
	f.failing = errors.New("secret detail")
	r := open(t, f)
	if got := r.raw(http.MethodGet, CardPath, ""); got.status != http.StatusServiceUnavailable || strings.Contains(string(got.body), "secret") {
		t.Errorf("got %d %s", got.status, got.body)
	}
	if got := r.rpc(rpcCall("SendMessage", sendBody(`{"text":"x"}`))); got.Error == nil || got.Error.Code != -32603 || strings.Contains(got.Error.Message, "secret") {
		t.Errorf("got %+v", got.Error)
	}
}

// Cards and shelves are remembered for a bounded number of names and callers.
func TestBoundedViews(t *testing.T) {
	f := newFake(entry("one", anything))
	r := open(t, f)
	for i := range 3 * mostViews {
		who := strings.Repeat("x", i+1)
		if got := r.rpc(rpcCall("SendMessage", sendBody(`{"data":{}}`)), "X-Test-Principal", who); got.Error != nil {
			t.Fatal(got.Error)
		}
		if _, err := r.h.public(context.Background(), "http://"+who, ""); err != nil {
			t.Fatal(err)
		}
	}
	if len(r.h.views.byWhom) > mostViews || len(r.h.cards.byBase) > mostCards {
		t.Errorf("%d views and %d cards are kept", len(r.h.views.byWhom), len(r.h.cards.byBase))
	}
}
