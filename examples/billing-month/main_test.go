package main

import (
	"context"
	"fmt"
	"os"
)

func Example() {
	if err := simulate(context.Background(), os.Stdout); err != nil {
		fmt.Println(err)
	}

	// Output:
	// 1 Oct 09:00  an account on the plan pack, with overage, 19% VAT
	// 12 Oct 14:00  X-Credits-Limit: 50000, X-Credits-Remaining: 0, X-Credits-Overage: 2000
	// 20 Oct 16:30  the plan agency, from this day on; the month would cost 92.17 EUR
	// 1 Nov 00:15  the invoice is a draft for an hour
	//                 pack, 19 days from 2026-10-01 at 29.00 EUR a month
	//                 agency, 12 days from 2026-10-20 at 149.00 EUR a month
	//                 together 75.45 EUR
	//                 2000 credits of overage: 2.00 EUR
	//                 19% VAT: 14.72 EUR
	//                 total: 92.17 EUR
	// 1 Nov 01:15  attempt 1 with the key …-2026-10: declined the card has no funds
	// 1 Nov 02:15  attempt 2 with the key …-2026-10-2: pending debit of 2026-10
	// 4 Nov 10:00  the bank reports the debit as paid: the invoice is paid
	// 4 Nov 10:00  the bank reports the debit as paid: the invoice is paid
	// 6 Nov 11:00  a credit note of 11.90 EUR by ann@example.com for an outage on 12 October
	// 6 Nov 11:00  an audit of 52 charges, 1 invoice and 6 notes finds 0 faults
	//                 1 Nov 00:15 created, draft
	//                 1 Nov 01:15 finalized, open
	//                 1 Nov 01:15 charged, open
	//                 1 Nov 02:15 charged, pending
	//                 4 Nov 10:00 settled, paid
	//                 6 Nov 11:00 credited, paid
}
