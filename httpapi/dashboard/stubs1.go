package dashboard

func (d *dashboard) keyPages() []*page      { return nil }
func (d *dashboard) usagePages() []*page    { return nil }
func (d *dashboard) activityPages() []*page { return nil }
func (d *dashboard) billingPages() []*page  { return nil }
func (d *dashboard) channelPages() []*page  { return nil }
func (d *dashboard) memberPages() []*page   { return nil }
func (d *dashboard) sessionPages() []*page  { return nil }
func (d *dashboard) logPages() []*page      { return nil }
