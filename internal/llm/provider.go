package llm

import "github.com/hotcell/hotcell/internal/pattern"

// Kind says which protocol a provider speaks.
type Kind string

// The kinds.
const (
	OpenAI     Kind = "openai"
	Anthropic  Kind = "anthropic"
	Compatible Kind = "openai-compatible" // a gateway or a server of one's own with OpenAI's endpoints
)

// Kinds lists them all.
func Kinds() []string { return []string{string(OpenAI), string(Anthropic), string(Compatible)} }

// Provider is where models are asked.
type Provider struct {
	Name       string
	Kind       Kind
	BaseURL    string   // "": the kind's public address
	Credential string   // a reference: env:NAME, file:/PATH, stored:NAME; "" with Compatible alone: none is sent
	Models     []string // those that calls may use, * stands for any text; nil: all
	Model      string   // for skills that name none; "": the first of Models that is no pattern
	Prices     []Price  // the first that matches a model counts
	Limits     Limits
	Skills     []string // those that may use it, as package skills reads patterns of them; nil: all
}

// Price is what models cost.
type Price struct {
	Models []string // patterns
	Input  Money    // for a million tokens
	Output Money
}

// Limits bound one call's use of a provider. A zero field is the default's.
type Limits struct {
	Requests    int   // a skill's max_turns wins where it is less
	Tokens      int64 // in and out together
	Bytes       int64 // of requests and answers together
	Cost        Money // 0: no bound
	Concurrency int   // requests at once
}

// What a call gets where the operator says nothing.
const (
	DefaultRequests    = 100
	DefaultTokens      = 1_000_000
	DefaultBytes       = 64 << 20
	DefaultConcurrency = 4
)

// The most that an operator can say.
const (
	MaxRequests    = 10_000
	MaxTokens      = 1_000_000_000
	MaxBytes       = 4 << 30
	MaxConcurrency = 64
)

// Complete returns the provider with every default filled in.
func (p Provider) Complete() Provider {
	if p.BaseURL == "" {
		switch p.Kind {
		case OpenAI:
			p.BaseURL = "https://api.openai.com/v1"
		case Anthropic:
			p.BaseURL = "https://api.anthropic.com"
		case Compatible:
		}
	}
	if p.Models == nil {
		p.Models = []string{"*"}
	}
	if p.Skills == nil {
		p.Skills = AllSkills()
	}
	if p.Model == "" {
		p.Model = firstName(p.Models)
	}
	l := &p.Limits
	orDefault(&l.Requests, DefaultRequests)
	orDefault(&l.Tokens, DefaultTokens)
	orDefault(&l.Bytes, DefaultBytes)
	orDefault(&l.Concurrency, DefaultConcurrency)
	return p
}

func orDefault[T int | int64](n *T, def T) {
	if *n == 0 {
		*n = def
	}
}

// Allows reports whether calls may use a model.
func (p *Provider) Allows(model string) bool { return model != "" && pattern.Any(p.Models, model) }

// AllSkills are the patterns of all skills, the custom ones too.
func AllSkills() []string { return []string{"*", "custom:*"} }

// Price returns what a model costs, and whether that is known.
func (p *Provider) Price(model string) (Price, bool) {
	for _, price := range p.Prices {
		if pattern.Any(price.Models, model) {
			return price, true
		}
	}
	return Price{}, false
}
