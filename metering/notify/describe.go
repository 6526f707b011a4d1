package notify

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/diagkit/diagkit/metering"
)

// A summary is an event in words, from which each kind of channel makes its own message.
type summary struct {
	Title  string // what happened, without a full stop
	Text   string // one or two sentences
	Facts  []fact // at most 8
	Action string // what to do; empty where nothing need be done
}

type fact struct{ Name, Value string }

// The bounds of what others have written, in characters. Titles stay short enough for all that show them.
const (
	maxName   = 64
	maxDomain = 100
	maxError  = 300
)

// unknown stands for a name that the data lack.
const unknown = "unknown"

// describe puts an event into words.
func describe(e metering.Event) (summary, error) {
	write := texts[e.Type]
	if write == nil {
		return summary{}, fmt.Errorf("there is no text for events of type %q", e.Type)
	}
	f, err := factsOf(e)
	if err != nil {
		return summary{}, err
	}
	s := write(f)
	s.Facts = append(s.Facts, fact{"Account", string(e.Account)})
	return s, nil
}

// texts has an entry for each type.
var texts = map[metering.EventType]func(facts) summary{
	metering.EventKeyCreated:      keyCreated,
	metering.EventKeyRotated:      keyRotated,
	metering.EventKeyGraceEnded:   keyGraceEnded,
	metering.EventKeyRevoked:      keyRevoked,
	metering.EventKeyExpiresSoon:  keyExpiresSoon,
	metering.EventKeyExpired:      keyExpired,
	metering.EventUsageThreshold:  usageThreshold,
	metering.EventQuotaExceeded:   quotaExceeded,
	metering.EventOverageStarted:  overageStarted,
	metering.EventBudgetThreshold: budgetThreshold,
	metering.EventBudgetReached:   budgetReached,
	metering.EventRateLimited:     rateLimited,
	metering.EventPeriodClosed:    periodClosed,
	metering.EventOverageBilled:   overageBilled,
	metering.EventPaymentFailed:   paymentFailed,
	metering.EventSPFCreated:      spfCreated,
	metering.EventSPFChanged:      spfChanged,
	metering.EventSPFFailed:       spfFailed,
	metering.EventSPFRecovered:    spfRecovered,
	metering.EventSPFRemoved:      spfRemoved,
	metering.EventChannelTest:     channelTest,
	metering.EventChannelDisabled: channelEnded,
}

func keyCreated(f facts) summary {
	return summary{
		Title: "API key created: " + f.key(), Text: "A new API key was created for your account.", Facts: f.aboutKey(),
		Action: "If nobody on your team created this key, revoke it now.",
	}
}

func keyRotated(f facts) summary {
	s := summary{
		Title: "API key rotated: " + f.key(), Text: "The API key was replaced by a new one and no longer works.",
		Facts:  append(f.aboutKey(), fact{"New key", string(f.NewKeyID)}, fact{"New prefix", f.NewPrefix}),
		Action: "Switch every client to the new key now.",
	}
	if f.GraceUntil != nil {
		s.Text = "The API key was replaced by a new one. The old key works until " + moment(f.GraceUntil) + "."
		s.Action = "Switch every client to the new key before then."
	}
	return s
}

func keyGraceEnded(f facts) summary {
	return summary{
		Title:  "Old API key no longer works: " + f.key(),
		Text:   "The grace period after the rotation is over. Requests with the old key are refused.",
		Facts:  append(f.aboutKey(), fact{"New key", string(f.NewKeyID)}),
		Action: "If a client still uses the old key, switch it to the new one.",
	}
}

func keyRevoked(f facts) summary {
	s := summary{
		Title: "API key revoked: " + f.key(), Text: "The API key was revoked. Requests with it are refused.",
		Facts:  append(f.aboutKey(), fact{"Reason", string(f.Revoked)}),
		Action: "If a client still needs access, create a new key for it.",
	}
	if f.Revoked == metering.RevokedLeak {
		s.Text = "The API key was revoked because its secret had leaked. Requests with it are refused."
		s.Action = "Create a new key, and check the usage of the old one for requests that are not yours."
	}
	return s
}

func keyExpiresSoon(f facts) summary {
	return summary{
		Title: "API key expires soon: " + f.key(),
		Text:  "The API key expires on " + moment(f.ExpiresAt) + ". Requests with it are refused from then on.",
		Facts: f.aboutKey(), Action: "Create a new key and switch your clients to it. A rotation keeps the expiry.",
	}
}

func keyExpired(f facts) summary {
	return summary{
		Title: "API key expired: " + f.key(), Text: "The API key has expired. Requests with it are refused.",
		Facts: f.aboutKey(), Action: "If a client still needs access, create a new key for it.",
	}
}

func usageThreshold(f facts) summary {
	return summary{
		Title:  fmt.Sprintf("%d%% of this month's credits used", f.Percent),
		Text:   fmt.Sprintf("Your account has used %s of the %s credits of %s.", number(f.Used), number(f.Limit), f.month()),
		Facts:  f.aboutUsage(),
		Action: "If you expect to need more, choose a larger plan or, where your plan has overage, enable it.",
	}
}

func quotaExceeded(f facts) summary {
	return summary{
		Title: "Request refused: no credits left",
		Text: fmt.Sprintf("A request for %s was refused because the remaining credits of %s do not cover it. "+
			"You are told of this once a month.", credits(f.Requested), f.month()),
		Facts:  f.aboutUsage(),
		Action: "To continue now, choose a larger plan or, where your plan has overage, enable it or raise its budget.",
	}
}

func overageStarted(f facts) summary {
	return summary{
		Title: "Overage started",
		Text: fmt.Sprintf("Your account has used all %s credits of %s. Further requests are billed as overage.",
			number(f.Limit), f.month()),
		Facts: f.aboutUsage(), Action: "To cap the cost, set an overage budget.",
	}
}

func budgetThreshold(f facts) summary {
	return summary{
		Title: fmt.Sprintf("%d%% of the overage budget spent", f.Percent),
		Text:  fmt.Sprintf("Overage of %s has cost %s of a budget of %s.", f.month(), f.money(f.Cost), f.money(f.Budget)),
		Facts: f.aboutUsage(), Action: "Requests are refused once the budget is spent. To avoid that, raise it.",
	}
}

func budgetReached(f facts) summary {
	return summary{
		Title: "Overage budget spent",
		Text: fmt.Sprintf("The overage budget of %s for %s is spent. Further requests are refused until the next month.",
			f.money(f.Budget), f.month()),
		Facts: f.aboutUsage(), Action: "To continue now, raise the budget or choose a larger plan.",
	}
}

func rateLimited(f facts) summary {
	return summary{
		Title: "Requests are being rate limited: " + f.key(),
		Text: fmt.Sprintf("The API key sent more than %s requests per minute, and some were refused with status 429. "+
			"You are told of this at most once an hour for each key.", number(int64(f.PerMinute))),
		Facts: f.aboutKey(), Action: "Slow the client down, honor Retry-After, or choose a plan with a higher rate.",
	}
}

func spfCreated(f facts) summary {
	return summary{
		Title: "Hosted SPF profile created: " + f.domain(),
		Text:  "A hosted SPF profile was created for " + f.domain() + ".", Facts: f.aboutSPF(),
		Action: "To use it, point the domain's SPF record to the include host.",
	}
}

func spfChanged(f facts) summary {
	return summary{
		Title: "Hosted SPF changed: " + f.domain(),
		Text: fmt.Sprintf("The published SPF records of %s changed: %s added, %s removed.",
			f.domain(), count(f.Added, "network"), count(f.Removed, "network")),
		Facts: f.aboutSPF(),
	}
}

func spfFailed(f facts) summary {
	facts := f.aboutSPF()
	if f.Error != "" {
		facts = append(facts, fact{"Error", line(f.Error, maxError)})
	}
	return summary{
		Title: "Hosted SPF cannot be resolved: " + f.domain(),
		Text: "The SPF record of " + f.domain() + " could not be resolved. " +
			"The last good records stay published, and resolution is retried.",
		Facts: facts, Action: "Check the source record and the records that it includes.",
	}
}

func spfRecovered(f facts) summary {
	return summary{
		Title: "Hosted SPF recovered: " + f.domain(),
		Text:  "The SPF record of " + f.domain() + " is resolved again. The published records are up to date.",
		Facts: f.aboutSPF(),
	}
}

func spfRemoved(f facts) summary {
	return summary{
		Title:  "Hosted SPF profile removed: " + f.domain(),
		Text:   "The hosted SPF profile of " + f.domain() + " was removed. Its records are no longer published.",
		Facts:  f.aboutSPF(),
		Action: "If the domain's SPF record still refers to the include host, change it now: mail may be refused.",
	}
}

func channelTest(f facts) summary {
	return summary{
		Title: "Test notification", Text: "This is a test. The channel " + f.channel() + " receives notifications.",
		Facts: []fact{{"Channel", f.ChannelID}},
	}
}

func channelEnded(f facts) summary {
	return summary{
		Title: "Notification channel disabled: " + f.channel(),
		Text: fmt.Sprintf("Nothing is sent to the %s channel %s any more: %s.",
			f.Kind, f.channel(), line(f.Reason, maxError)),
		Facts:  []fact{{"Channel", f.ChannelID}},
		Action: "Check the receiver, then enable the channel again, or remove it.",
	}
}

// key is how a person knows a key.
func (f *facts) key() string { return line(cmp.Or(f.KeyName, string(f.KeyID), unknown), maxName) }

func (f *facts) channel() string { return line(cmp.Or(f.ChannelName, f.ChannelID, unknown), maxName) }

func (f *facts) domain() string {
	return line(cmp.Or(f.Domain, f.ProfileName, f.ProfileID, unknown), maxDomain)
}

// month is the month of billing, such as "January 2026".
func (f *facts) month() string {
	if f.Period == nil {
		return "the month"
	}
	return f.Period.Start().Format("January 2006")
}

// money is an amount with two decimals. Of currencies that have other minor units there is no plan.
func (f *facts) money(cents int64) string {
	return fmt.Sprintf("%s %s.%02d", cmp.Or(f.Currency, "EUR"), number(cents/100), cents%100)
}

func (f *facts) aboutKey() []fact {
	list := []fact{{"Key", string(f.KeyID)}}
	if f.KeyPrefix != "" {
		list = append(list, fact{"Prefix", f.KeyPrefix})
	}
	if f.Environment != "" {
		list = append(list, fact{"Environment", string(f.Environment)})
	}
	if f.ExpiresAt != nil {
		list = append(list, fact{"Expires", moment(f.ExpiresAt)})
	}
	return list
}

func (f *facts) aboutUsage() []fact {
	list := []fact{{"Plan", string(f.Plan)}, {"Used", number(f.Used) + " of " + number(f.Limit) + " credits"}}
	if f.Overage > 0 {
		list = append(list, fact{"Overage", credits(f.Overage) + ", " + f.money(f.Cost)})
	}
	if f.Budget > 0 {
		list = append(list, fact{"Budget", f.money(f.Budget)})
	}
	return list
}

func (f *facts) aboutSPF() []fact {
	list := []fact{{"Profile", f.ProfileID}}
	if f.IncludeHost != "" {
		list = append(list, fact{"Include host", f.IncludeHost})
	}
	return list
}

// line is what somebody else has written, on one line of so many characters.
func line(text string, most int) string { return cut(strings.Join(strings.Fields(text), " "), most) }

func moment(t *time.Time) string {
	if t == nil {
		return "an unknown date"
	}
	return t.UTC().Format("2 January 2006 at 15:04 UTC")
}

func credits(n int64) string { return count(int(n), "credit") }

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return number(int64(n)) + " " + what + "s"
}

// number writes 1234567 as 1,234,567.
func number(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
