package stock

// What is checked of a request before anything is done for it.

func (o Order) Check() error         { return o.check() }
func (m Movement) Check() error      { return m.check() }
func (n NewSKU) Check() error        { return n.check() }
func (w SettleRequest) Check() error { return w.check() }
