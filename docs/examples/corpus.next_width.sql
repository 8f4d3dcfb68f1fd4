select corpus.next_width(width => 1000, took => '250 milliseconds');
