package llm

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Fault is what is wrong with one key of a provider.
type Fault struct{ Key, Why string }

const (
	maxName     = 32
	maxPatterns = 256
	maxModel    = 128
)

// Check finds what is wrong with a provider as it is written. No sentence repeats an address or a reference: a credential
// might have been put there.
func (p Provider) Check() []Fault {
	var found []Fault
	add := func(key, why string) {
		if why != "" {
			found = append(found, Fault{key, why})
		}
	}
	add("name", checkName(p.Name))
	if !slices.Contains(Kinds(), string(p.Kind)) {
		add("kind", "expected one of "+strings.Join(Kinds(), ", "))
	}
	add("base_url", p.checkBaseURL())
	if p.Credential == "" && p.Kind != Compatible {
		add("credential", "expected a reference such as env:NAME; only openai-compatible providers can have none")
	}
	add("models", checkModels(p.Models))
	if p.Models != nil && p.Model != "" && !p.Allows(p.Model) {
		add("model", "it is not among the provider's models")
	}
	for i, price := range p.Prices {
		if len(price.Models) == 0 {
			add(fmt.Sprintf("prices[%d].models", i), "expected the models that cost so much, such as [gpt-4o*]")
		}
	}
	p.checkLimits(add)
	return found
}

func (p Provider) checkLimits(add func(key, why string)) {
	l := p.Limits
	within := func(key string, n, most int64) {
		if n < 0 || n > most {
			add("limits."+key, fmt.Sprintf("expected a number from 1 to %d, or 0 for the default", most))
		}
	}
	within("requests", int64(l.Requests), MaxRequests)
	within("tokens", l.Tokens, MaxTokens)
	within("bytes", l.Bytes, MaxBytes)
	within("concurrency", int64(l.Concurrency), MaxConcurrency)
	if l.Cost > 0 && len(p.Prices) == 0 {
		add("limits.cost", "prices are missing: without them nothing can be counted")
	}
}

func checkName(name string) string {
	if name == "" || len(name) > maxName || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
		return fmt.Sprintf("expected a name of small letters, digits and hyphens, at most %d", maxName)
	}
	return ""
}

func checkModels(patterns []string) string {
	if patterns != nil && len(patterns) == 0 {
		return `expected at least one model, or "*" for all`
	}
	if len(patterns) > maxPatterns {
		return fmt.Sprintf("%d entries, at most %d are allowed", len(patterns), maxPatterns)
	}
	for _, p := range patterns {
		if p == "" || len(p) > maxModel || strings.Count(p, "*") > 4 {
			return fmt.Sprintf("expected names of at most %d bytes, with at most four *", maxModel)
		}
	}
	return ""
}

func (p Provider) checkBaseURL() string {
	if p.BaseURL == "" {
		if p.Kind == Compatible {
			return "expected the address of the provider, such as https://llm.example.org/v1"
		}
		return ""
	}
	u, why := CheckURL(p.BaseURL)
	if why == "" && u.Scheme == "http" && p.Credential != "" && !Loopback(u.Hostname()) {
		return "expected https: a credential could be read on its way; http is for loopback addresses and providers without a credential"
	}
	return why
}

// CheckURL reads an address that requests can be sent below. why says what is wrong with it, without repeating it.
func CheckURL(s string) (u *url.URL, why string) {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Host == "" || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http":
		return nil, "expected an address such as https://llm.example.org/v1"
	case u.User != nil:
		return nil, "expected an address without user and password: a secret has a setting of its own, which names it"
	case !portOf(u):
		return nil, "expected an address whose port, if it has one, is from 1 to 65535"
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || u.RawPath != "" || strings.Contains(u.Path+"/", "/../"):
		return nil, "expected an address without query, fragment, escapes and dots"
	}
	return u, ""
}

func portOf(u *url.URL) bool {
	if u.Port() == "" {
		return true
	}
	n, err := strconv.ParseUint(u.Port(), 10, 16)
	return err == nil && n > 0
}

// Loopback reports whether a host is this machine by its very name.
func Loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}
