package app

// warnOfPlatform says what the service lacks on a system. Files are locked everywhere.
func (a *App) warnOfPlatform(system string) {
	if system == "windows" {
		a.warnings.begin("platform", "on Windows keys and certificates are read again at a restart only, and a caller that hangs up is noticed later: use Linux for production")
	}
}
