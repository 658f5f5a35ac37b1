// The hardware's limit, as a contestant: see README.md for what it is asked and answers. It counts the files whose
// [min, max] meets [lower, upper] by one loop over two arrays and makes the bitmap of them, as a kernel has to.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int64_t *mins, *maxs, lower, upper;
static uint64_t *bits;
static size_t files;

struct part { size_t from, to; uint64_t count; };

static void *meet(void *arg) {
	struct part *p = arg;
	uint64_t count = 0;
	for (size_t w = p->from / 64; w < p->to / 64; w++) {
		const int64_t *lo = mins + w * 64, *hi = maxs + w * 64;
		uint8_t hit[64];
		for (int i = 0; i < 64; i++)
			hit[i] = (lo[i] <= upper) & (hi[i] >= lower);
		uint64_t word = 0;
		for (int i = 0; i < 8; i++) {
			uint64_t eight;
			memcpy(&eight, hit + i * 8, 8);
			word |= ((eight * 0x0102040810204080ull) >> 56) << (i * 8);
		}
		bits[w] = word;
		count += __builtin_popcountll(word);
	}
	p->count = count;
	return NULL;
}

static int64_t *load(const char *dir, const char *name) {
	char path[4096];
	snprintf(path, sizeof path, "%s/%s", dir, name);
	FILE *f = fopen(path, "rb");
	if (!f) { perror(path); exit(1); }
	fseek(f, 0, SEEK_END);
	size_t size = ftell(f);
	rewind(f);
	int64_t *values = aligned_alloc(64, (size + 63) / 64 * 64);
	if (!values || fread(values, 1, size, f) != size) { perror(path); exit(1); }
	fclose(f);
	files = size / 8;
	return values;
}

int main(int argc, char **argv) {
	if (argc != 5) { fprintf(stderr, "usage: range DIR THREADS LOWER UPPER\n"); return 2; }
	int threads = atoi(argv[2]);
	lower = atoll(argv[3]);
	upper = atoll(argv[4]);
	char line[256];
	while (fgets(line, sizeof line, stdin)) {
		line[strcspn(line, "\n")] = 0;
		const char *step = strchr(line, ' ');
		step = step ? step + 1 : "";
		int large = !strcmp(step, "kernel large"), small = !strcmp(step, "kernel range");
		if (!large && !small) {
			puts("{\"unsupported\":true}");
		} else if (line[0] == 'p') {
			mins = load(argv[1], large ? "large.min" : "small.min");
			maxs = load(argv[1], large ? "large.max" : "small.max");
			bits = calloc(files / 64 + 1, 8);
			puts("{}");
		} else {
			struct part parts[64];
			pthread_t ids[64];
			struct timespec a, b;
			clock_gettime(CLOCK_MONOTONIC, &a);
			size_t words = files / 64, from = 0;
			uint64_t count = 0;
			for (int t = 0; t < threads; t++) {
				size_t to = words * (t + 1) / threads * 64;
				parts[t] = (struct part){from, to, 0};
				from = to;
				if (t + 1 < threads) pthread_create(&ids[t], NULL, meet, &parts[t]);
				else meet(&parts[t]);
			}
			for (int t = 0; t + 1 < threads; t++) pthread_join(ids[t], NULL);
			for (int t = 0; t < threads; t++) count += parts[t].count;
			for (size_t i = words * 64; i < files; i++) count += mins[i] <= upper && maxs[i] >= lower;
			clock_gettime(CLOCK_MONOTONIC, &b);
			printf("{\"seconds\":%.9f,\"answer\":%llu}\n", b.tv_sec - a.tv_sec + (b.tv_nsec - a.tv_nsec) / 1e9, (unsigned long long)count);
		}
		fflush(stdout);
	}
	return 0;
}
