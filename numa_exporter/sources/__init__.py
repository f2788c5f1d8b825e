"""Floor 2: what the host says. Only this room, bundle/ and simhost/ touch the outside, and only through a Host."""
