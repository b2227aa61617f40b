% Random queueing networks as files net1.json ... for netprof qn, and in
% net1.want ... the method and the answers of Octave's package: of each class
% its throughput and the mean number at each station.
pkg load queueing
rand("seed", 1);

function text = numbers(v)
  text = strtrim(sprintf("%.17g, ", v));
  text = ["[" text(1:end-1) "]"];
end

function write_network(i, N, S, V, m, Z)
  f = fopen(sprintf("net%d.json", i), "w");
  fprintf(f, "{\"format\": \"netprof-qn\", \"schema\": 1, \"classes\": [");
  for c = 1:length(N)
    if c > 1, fprintf(f, ", "); end
    fprintf(f, "{\"name\": \"c%d\", \"customers\": %d, \"think_sec\": %.17g}", ...
            c, N(c), Z(c));
  end
  fprintf(f, "], \"stations\": [");
  for k = 1:length(m)
    if k > 1, fprintf(f, ",\n"); end
    if m(k) < 1, kind = "\"delay\"";
    elseif m(k) == 1, kind = "\"queueing\"";
    else, kind = sprintf("\"multi-server\", \"servers\": %d", m(k)); end
    fprintf(f, ["{\"name\": \"s%d\", \"kind\": %s, \"visits\": %s, " ...
            "\"service_sec\": %s}"], k, kind, numbers(V(:,k)), numbers(S(:,k)));
  end
  fprintf(f, "]}\n");
  fclose(f);
end

n = str2num(argv(){end});
for i = 1:n
  K = randi(6);
  C = 1 + 2 * (mod(i, 3) == 0);
  S = 10 .^ (-2 * rand(C, K));
  V = 4 * rand(C, K);
  Z = 5 * rand(1, C);
  m = 1 - 2 * (rand(1, K) < 0.25);
  method = "exact";
  if C > 1
    N = randi(7, 1, C);
    if rand() < 0.5 % classes are alike at several servers
      m(rand(1, K) < 0.5) = 3;
      S(:, m == 3) = S(1, m == 3) .* ones(C, 1);
    end
    [U R Q X] = qncmmva(N, S, V, m, Z);
  elseif mod(i, 3) == 1
    N = randi(100);
    if rand() < 0.4 % its servers are exact for few customers
      N = randi(6);
      m(rand(1, K) < 0.5) = 3;
    end
    [U R Q X] = qncsmva(N, S, V, m, Z);
  else
    N = randi(100);
    m(m > 1) = 1;
    method = "schweitzer";
    [U R Q X] = qncsmvaap(N, S, V, m, Z, 1e-13, 100000);
  end
  write_network(i, N, S, V, m, Z);
  f = fopen(sprintf("net%d.want", i), "w");
  fprintf(f, "%s\n", method);
  for c = 1:C
    fprintf(f, "%.17g\n", X(c, 1) / V(c, 1), Q(c, :));
  end
  fclose(f);
end
