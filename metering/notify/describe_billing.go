package notify

import (
	"cmp"
	"fmt"
)

func periodClosed(f facts) summary {
	text := fmt.Sprintf("Your account used %s in %s. ", credits(f.Used), f.month())
	if f.Total > 0 {
		text += "The invoice total is " + f.money(f.Total) + "."
	} else {
		text += "There is nothing to pay."
	}
	return summary{Title: "Invoice for " + f.month(), Text: text, Facts: f.aboutInvoice()}
}

func overageBilled(f facts) summary {
	return summary{
		Title: "Overage billed for " + f.month(),
		Text: fmt.Sprintf("Your account used %s beyond the allowance of %s, which cost %s.",
			credits(f.Overage), f.month(), f.money(f.Cost)),
		Facts: f.aboutInvoice(), Action: "If this happens every month, compare the price of the next larger plan.",
	}
}

func paymentFailed(f facts) summary {
	s := summary{
		Title:  "Payment failed for " + f.month(),
		Text:   fmt.Sprintf("The payment of %s for %s failed.", f.money(cmp.Or(f.Amount, f.Total)), f.month()),
		Facts:  f.aboutInvoice(),
		Action: "Check the payment method. No further attempt is made until the payment is retried by hand.",
	}
	if f.Error != "" { // it was declined, and so the account does not go on
		s.Action = "Update the payment method and contact support. The account is suspended until the invoice is paid."
	}
	if f.NextAttempt != nil {
		s.Facts = append(s.Facts, fact{"Next attempt", moment(f.NextAttempt)})
		s.Action = "Check the payment method before the next attempt."
	}
	if f.Error != "" {
		s.Facts = append(s.Facts, fact{"Error", line(f.Error, maxError)})
	}
	return s
}

func (f *facts) aboutInvoice() []fact {
	list := []fact{{"Invoice", f.Invoice}, {"Plan", string(f.Plan)}}
	if f.Overage > 0 {
		list = append(list, fact{"Overage", credits(f.Overage) + ", " + f.money(f.Cost)})
	}
	if f.Tax > 0 {
		list = append(list, fact{"Tax", f.money(f.Tax)})
	}
	list = append(list, fact{"Total", f.money(f.Total)})
	if f.Amount > 0 && f.Amount < f.Total {
		list = append(list, fact{"Credited", f.money(f.Total - f.Amount)})
	}
	return list
}
