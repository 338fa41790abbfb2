package carillon.api.schema;

import carillon.api.error.ValidationErrors;
import carillon.model.TenantId;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;

/**
 * A cache of compiled schemas. Each is compiled once, also for concurrent callers, and no caller
 * waits for another schema to compile.
 */
final class CompiledSchemas {

  private static final long MAX_BYTES = 32 << 20;

  /** The overhead of an entry, so that many small ones count too. */
  private static final long BYTES_PER_ENTRY = 5_000;

  private final Function<String, Optional<PayloadSchema>> compiler;
  private final long maxBytes;

  /** Least recently used first. */
  private final Map<TypeName, Entry> entries = new LinkedHashMap<>(16, 0.75f, true);

  private long bytes;

  private record TypeName(int tenant, String name) {}

  CompiledSchemas() {
    this(text -> PayloadSchema.compile(text, "", new ValidationErrors()), MAX_BYTES);
  }

  CompiledSchemas(Function<String, Optional<PayloadSchema>> compiler, long maxBytes) {
    this.compiler = compiler;
    this.maxBytes = maxBytes;
  }

  /** Empty if the text is not a supported schema. */
  Optional<PayloadSchema> of(TenantId tenant, String type, String text) {
    TypeName name = new TypeName(tenant.value(), type);
    Entry entry = entry(name, text);
    if (!entry.isCompiled) {
      entry.compile(compiler);
      count(name, entry);
    }
    return entry.schema;
  }

  /** Identified by text, because a deleted and recreated type starts with version 1 again. */
  private synchronized Entry entry(TypeName type, String text) {
    Entry known = entries.get(type);
    if (known != null && known.text.equals(text)) {
      return known;
    }
    Entry entry = new Entry(text);
    entries.put(type, entry);
    bytes -= known == null ? 0 : known.bytes;
    return entry;
  }

  /** Adds the size of a compiled entry and evicts the least recently used ones. */
  private synchronized void count(TypeName type, Entry entry) {
    if (entries.get(type) != entry || entry.bytes > 0) {
      return; // replaced in the meantime, or already counted by another caller
    }
    entry.bytes = BYTES_PER_ENTRY + entry.schema.map(PayloadSchema::bytes).orElse(0L);
    bytes += entry.bytes;
    Iterator<Entry> eldest = entries.values().iterator();
    while (bytes > maxBytes && eldest.hasNext()) {
      bytes -= eldest.next().bytes;
      eldest.remove();
    }
  }

  synchronized int size() {
    return entries.size();
  }

  private static final class Entry {

    private final String text;
    private Optional<PayloadSchema> schema = Optional.empty();

    /** Written after the schema, so that a thread that reads true can read the schema. */
    private volatile boolean isCompiled;

    /** Zero until it was counted; guarded by the cache. */
    private long bytes;

    Entry(String text) {
      this.text = text;
    }

    /** The first caller compiles, the others wait here. */
    synchronized void compile(Function<String, Optional<PayloadSchema>> compiler) {
      if (!isCompiled) {
        schema = compiler.apply(text);
        isCompiled = true;
      }
    }
  }
}
