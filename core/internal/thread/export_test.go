package thread

// Bound shows tests the estimate that spares Apply an encoding.
func Bound(h *Head) int { return h.bound() }
