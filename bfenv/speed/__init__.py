"""How fast bfenv is on this machine."""
