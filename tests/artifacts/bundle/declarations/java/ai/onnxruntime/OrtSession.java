package ai.onnxruntime;

import java.util.Iterator;
import java.util.Map;

public class OrtSession implements AutoCloseable {
  @Override
  public void close() throws OrtException {}

  public static class Result implements AutoCloseable, Iterable<Map.Entry<String, OnnxValue>> {
    @Override
    public void close() {}

    @Override
    public Iterator<Map.Entry<String, OnnxValue>> iterator() {
      return null;
    }

    public OnnxValue get(int index) {
      return null;
    }
  }
}
