"""How each client's transcript is read into the words of `pannier.clients.transcript`."""
