package httpapi

import (
	"fmt"
	"slices"
	"strings"
)

// ScreenWidth is that of a terminal on which no line is broken.
const ScreenWidth = 1 << 16

// screenExpectation is what the command line must print.
type screenExpectation struct {
	Has       wordGroups `json:"has"`
	Lacks     []string   `json:"lacks"`
	FirstStep wordGroups `json:"first_step"`
	Order     []string   `json:"order"`
}

// judge lists the differences between a screen and the expectation.
func (e *screenExpectation) judge(screen string) []string {
	var faults []string
	fail := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	if screen == "" {
		return []string{"there is no screen"}
	}
	for _, group := range e.Has {
		if !(wordGroups{group}).in(screen) {
			fail("the screen has none of %q", group)
		}
	}
	low := strings.ToLower(screen)
	for _, text := range lowered(e.Lacks) {
		if strings.Contains(low, text) {
			fail("the screen has %q", text)
		}
	}
	if step := firstStep(screen); !e.FirstStep.in(step) {
		fail("the first step %q lacks a word of one of %q", step, e.FirstStep)
	}
	switch at := func(i int) int {
		return slices.IndexFunc(strings.Split(low, "\n"), func(line string) bool {
			return strings.Contains(line, strings.ToLower(e.Order[i]))
		})
	}; {
	case len(e.Order) == 0:
	case len(e.Order) != 2:
		fail("the order is one of two texts, not %q", e.Order)
	case at(1) >= 0 && (at(0) < 0 || at(0) >= at(1)):
		fail("no line with %q comes before that with %q", e.Order[0], e.Order[1])
	}
	return faults
}

// firstStep returns the first item of "Do first", with what to publish; empty if there is none.
func firstStep(screen string) string {
	_, steps, _ := strings.Cut(screen, "\nDo first\n")
	steps, ok := strings.CutPrefix(steps, "  1. ")
	if !ok {
		return ""
	}
	for _, end := range []string{"\n\n", "\n  2. ", "\n  …"} {
		steps, _, _ = strings.Cut(steps, end)
	}
	return steps
}
