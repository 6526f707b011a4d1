package billing

import (
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/diagkit/diagkit/metering"
)

// A PlanLine is days of a month at the price of a plan.
type PlanLine struct {
	Plan       metering.PlanID `json:"plan"`
	From       string          `json:"from"` // the first of the days, such as "2026-10-20" (UTC)
	Days       int             `json:"days"`
	PriceCents *int64          `json:"price_cents"` // of the plan for a whole month; null where none is agreed yet
}

// An OverageLine is what was used beyond the allowance at one rate.
type OverageLine struct {
	Rate    int64  `json:"rate"` // millionths of a cent per credit
	Credits int64  `json:"credits"`
	Exact   string `json:"cents_exact"` // a decimal number of cents, without rounding
}

// held is a plan that an account has had since an instant.
type held struct {
	plan  metering.PlanID
	since time.Time
	price *int64 // nil: not agreed yet
}

// planLines charges each day of a month for the dearest plan held from the month's beginning to the end of that day.
// Days that end before the first plan cost nothing. A plan whose price is not known is taken for the dearest.
func planLines(p metering.Period, plans []held) []PlanLine {
	var lines []PlanLine
	var dearest *held
	for day := p.Start(); day.Before(p.End()); day = day.AddDate(0, 0, 1) {
		end := day.AddDate(0, 0, 1)
		for len(plans) > 0 && plans[0].since.Before(end) {
			if dearest == nil || !dearer(dearest.price, plans[0].price) {
				dearest = &plans[0]
			}
			plans = plans[1:]
		}
		last := len(lines) - 1
		switch {
		case dearest == nil:
		case last >= 0 && lines[last].Plan == dearest.plan && equal(lines[last].PriceCents, dearest.price):
			lines[last].Days++
		default:
			lines = append(lines, PlanLine{dearest.plan, day.Format(time.DateOnly), 1, dearest.price})
		}
	}
	return lines
}

// dearer reports whether a price is above another.
func dearer(a, b *int64) bool { return b != nil && (a == nil || *a > *b) }

func equal(a, b *int64) bool { return a == b || a != nil && b != nil && *a == *b }

// errTooMuch is of sums that no invoice can hold.
var errTooMuch = errors.New("the sum is more than can be billed")

// base is what the days cost together, rounded half up; nil where a price is not known.
func base(p metering.Period, lines []PlanLine) (*int64, error) {
	sum := new(big.Int)
	for _, l := range lines {
		if l.PriceCents == nil {
			return nil, nil
		}
		sum.Add(sum, new(big.Int).Mul(big.NewInt(*l.PriceCents), big.NewInt(int64(l.Days))))
	}
	days := int64(p.End().Sub(p.Start()) / (24 * time.Hour))
	cents, ok := halfUp(sum, days)
	if !ok {
		return nil, errTooMuch
	}
	return &cents, nil
}

// halfUp divides what is not negative, and rounds.
func halfUp(n *big.Int, by int64) (int64, bool) {
	twice := new(big.Int).Add(new(big.Int).Lsh(n, 1), big.NewInt(by))
	twice.Quo(twice, big.NewInt(2*by))
	return twice.Int64(), twice.IsInt64()
}

// overage sums lines: exact, and rounded half up.
func overage(lines []OverageLine) (exact string, cents int64, err error) {
	sum := new(big.Int)
	for _, l := range lines {
		sum.Add(sum, micros(l.Credits, l.Rate))
	}
	cents, ok := halfUp(sum, metering.MicrosPerCent)
	if !ok {
		return "", 0, errTooMuch
	}
	return decimalCents(sum), cents, nil
}

// micros is the price of credits in millionths of a cent.
func micros(credits, rate int64) *big.Int {
	return new(big.Int).Mul(big.NewInt(credits), big.NewInt(rate))
}

// decimalCents writes millionths of a cent as cents.
func decimalCents(micros *big.Int) string {
	whole, rest := new(big.Int).QuoRem(micros, big.NewInt(metering.MicrosPerCent), new(big.Int))
	fraction := strings.TrimRight(fmt.Sprintf("%06d", rest.Int64()), "0")
	if fraction == "" {
		return whole.String()
	}
	return whole.String() + "." + fraction
}
