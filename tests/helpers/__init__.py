"""What several tests share: worlds with known answers, small models, servers, pages."""
